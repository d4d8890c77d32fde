import net from 'node:net';
import type { ConnectionSettings } from '../connection-settings.ts';
import { isHost } from '../network.ts';

export interface HostAddress {
  readonly host: string;
  /** Null: the port of the engine. */
  readonly port: number | null;
}

/** Most hosts of one connection. */
export const MOST_HOSTS = 8;

/** True when the host is a list. */
export const isHostList = (host: string | null): boolean => host?.includes(',') === true;

/** The hosts of a connection, in order. In a list each may have a port, as in `db1:5432,db2:5433` or `[::1]:5432,db2`. */
export function hostsOf({ host, port }: Pick<ConnectionSettings, 'host' | 'port'>): readonly HostAddress[] {
  if (host === null || !isHostList(host)) return [{ host: host ?? '', port }];
  return host.split(',').map((entry) => addressIn(entry.trim(), port));
}

/** As a log or an error names it. */
export const hostText = ({ host, port }: HostAddress): string =>
  port === null ? host : `${net.isIPv6(host) ? `[${host}]` : host}:${port}`;

function addressIn(entry: string, port: number | null): HostAddress {
  if (net.isIPv6(entry)) return { host: entry, port };
  const [, name = entry, digits] = /^(\[.*\]|[^:]*)(?::(\d{1,5}))?$/.exec(entry) ?? [];
  return { host: name.replace(/^\[(.*)\]$/, '$1'), port: digits === undefined ? port : Number(digits) };
}

/** Why a list cannot be stored, as a sentence. Null: it can. */
export function listFault(host: string): string | null {
  const hosts = hostsOf({ host, port: null });
  if (hosts.length > MOST_HOSTS) return `A connection can have at most ${MOST_HOSTS} hosts.`;
  const wrong = hosts.findIndex((one) => !isHost(one.host) || one.port === 0 || (one.port ?? 0) > 65_535);
  if (wrong >= 0)
    return `Host ${wrong + 1} of the list is not a host name or an IP address. Write the hosts as db1.example.com,db2.example.com, each with a port if they differ (db1:5432,db2:5433).`;
  const texts = hosts.map((one) => hostText(one).toLowerCase());
  return new Set(texts).size === texts.length ? null : 'The list has a host twice. Remove one of them.';
}
