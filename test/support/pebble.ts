import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guardedFetch } from '#core/engines/shared/dial.ts';
import type { DialPolicy } from '#core/engines/shared/source.ts';
import type { Ask } from '#server/tls/ask.ts';
import { createAuthority } from './certificates.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/** A certificate authority for tests: Debian's pebble, with its server for DNS answers. */
export interface Pebble {
  readonly directory: string;
  /** What pebble's own certificate is trusted by, as a file for NODE_EXTRA_CA_CERTS. */
  readonly authority_file: string;
  /** `address:port` of the DNS server that it asks. */
  readonly dns: string;
  /** Requests through the address guard, which trust pebble's own certificate. */
  readonly ask: Ask;
  /** What clients trust who meet its certificates. */
  readonly root: () => Promise<string>;
  readonly addTxt: (name: string, value: string) => Promise<void>;
  readonly clearTxt: (name: string) => Promise<void>;
  /** Where a name leads, instead of to this machine. */
  addAddress(name: string, address: string): Promise<void>;
  addAlias(name: string, target: string): Promise<void>;
  /** Ends the authority; the name server goes on. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

export const pebble_is_here = Bun.which('pebble') !== null && Bun.which('pebble-challtestsrv') !== null;

const POLICY: DialPolicy = { allow_private_networks: true, sqlite_dir: '', forbidden: [], forbidden_files: [] };

/** @param http_port where it looks for http-01; every name leads to this machine. */
export async function startPebble(http_port: number): Promise<Pebble> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-pebble-'));
  const [port, management, dns_port, dns_management] = [freePort(), freePort(), freePort(), freePort()];
  const authority = await createAuthority('Pebble of a test');
  const own = await authority.issue('DNS:localhost', 'IP:127.0.0.1');
  await Bun.write(join(folder, 'cert.pem'), own.cert);
  await Bun.write(join(folder, 'key.pem'), own.key);
  await Bun.write(join(folder, 'ca.pem'), authority.ca);
  const config = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${management}`,
    certificate: join(folder, 'cert.pem'),
    privateKey: join(folder, 'key.pem'),
    httpPort: http_port,
    tlsPort: freePort(),
    ocspResponderURL: '',
    externalAccountBindingRequired: false,
  };
  await Bun.write(join(folder, 'config.json'), JSON.stringify({ pebble: config }));
  const quiet = { stdout: 'ignore', stderr: 'ignore' } as const;
  const names = Bun.spawn(
    [
      'pebble-challtestsrv',
      `-dns01=127.0.0.1:${dns_port}`,
      `-management=127.0.0.1:${dns_management}`,
      '-http01=',
      '-https01=',
      '-tlsalpn01=',
      '-defaultIPv6=',
    ],
    quiet,
  );
  const begin = () =>
    Bun.spawn(['pebble', '-config', join(folder, 'config.json'), '-dnsserver', `127.0.0.1:${dns_port}`], {
      ...quiet,
      // No waits and no nonces refused at random; what was proven is to be proven again.
      env: { PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '5', PEBBLE_AUTHZREUSE: '0' },
    });
  let running = begin();
  const tls = { ca: authority.ca };
  const answers = async () => (await fetch(`https://127.0.0.1:${port}/dir`, { tls })).ok;
  const tell = async (path: string, body: object): Promise<void> => {
    await fetch(`http://127.0.0.1:${dns_management}/${path}`, { method: 'POST', body: JSON.stringify(body) });
  };
  await until(answers);
  await until(async () => (await fetch(`http://127.0.0.1:${dns_management}/`)).status > 0);
  return {
    directory: `https://127.0.0.1:${port}/dir`,
    authority_file: join(folder, 'ca.pem'),
    dns: `127.0.0.1:${dns_port}`,
    ask: (url, init) => guardedFetch(url, { ...init, tls }, POLICY),
    root: async () => (await fetch(`https://127.0.0.1:${management}/roots/0`, { tls })).text(),
    addTxt: (name, value) => tell('set-txt', { host: `${name}.`, value }),
    clearTxt: (name) => tell('clear-txt', { host: `${name}.` }),
    addAddress: (name, address) => tell('add-a', { host: `${name}.`, addresses: [address] }),
    addAlias: (name, target) => tell('set-cname', { host: `${name}.`, target: `${target}.` }),
    async pause() {
      running.kill();
      await running.exited;
    },
    async resume() {
      running = begin();
      await until(answers);
    },
    async stop() {
      for (const child of [running, names]) child.kill();
      await Promise.all([running.exited, names.exited]);
      await authority.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
