import net from 'node:net';
import { AppError } from '#core/errors.ts';
import { resolveTarget } from '../dial.ts';
import { badHost, isHost } from '../network.ts';
import type { DialPolicy } from '../source.ts';

/** A checked address behind an SSH server. */
export interface FarTarget {
  /** What the SSH server connects to. */
  readonly host: string;
  /** True when the address is private, or when only the SSH server can resolve the name. */
  readonly private: boolean;
  /** The address as this machine knows it. Null: only the SSH server can resolve the name. */
  readonly address: string | null;
}

const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|0\.0\.0\.0|::1|::)$/i;

/**
 * Applies the rules for addresses to one that an SSH server dials. Rejects with `private_network_blocked`.
 * @param server the address of that SSH server, which loopback names mean; null: unknown here.
 */
export async function farTarget(
  host: string,
  port: number,
  server: string | null,
  policy: DialPolicy,
  database?: string,
): Promise<FarTarget> {
  const name = host.replace(/^\[(.*)\]$/, '$1');
  if (!isHost(name)) throw badHost(name);
  if (LOOPBACK.test(name)) {
    // `localhost` there is the SSH server, which may be this machine with its services.
    if (server !== null) await resolveTarget(server, port, policy, database);
    return { host: name, private: true, address: server };
  }
  try {
    const target = await resolveTarget(name, port, policy, database);
    // A name can mean something else there. Where private addresses are not allowed, the checked address is dialled.
    const dialled = net.isIP(name) || policy.allow_private_networks ? name : target.address;
    return { host: dialled, private: target.private, address: target.address };
  } catch (error) {
    if (!(error instanceof AppError) || error.reason !== 'dns_failed') throw error;
    if (policy.allow_private_networks) return { host: name, private: true, address: null };
    throw new AppError(
      'private_network_blocked',
      'Only the SSH server can resolve the host, so its address cannot be checked here; enter a public address, or set SVC_ALLOW_PRIVATE_NETWORKS=true.',
      { reason: 'private_network_blocked' },
    );
  }
}
