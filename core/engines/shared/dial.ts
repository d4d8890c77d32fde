import { lookup } from 'node:dns/promises';
import net from 'node:net';
import { AppError } from '#core/errors.ts';
import { untilAborted } from './deadline.ts';
import { type DialledFetch, type DialledInit, badHost, isHost, malformed } from './network.ts';
import type { DialPolicy } from './source.ts';
import { canonicalAddress, classifyAddress } from './addresses.ts';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** Resolves a name to all of its addresses. Injectable, so that tests control DNS. */
export type Resolve = (host: string) => Promise<readonly ResolvedAddress[]>;

/** A checked target. Only `addresses` are dialled; the name is not resolved again, because its records can change. */
export interface DialTarget {
  readonly host: string;
  readonly port: number;
  readonly address: string;
  readonly family: number;
  readonly addresses: readonly ResolvedAddress[];
  /** True when the address is only allowed because of `allow_private_networks`. */
  readonly private: boolean;
}

const CONNECT_MS = 10_000;
const NEVER_OPENED = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT']);

const systemResolve: Resolve = (host) => lookup(host, { all: true });

/**
 * Resolves a name once and checks all of its addresses. Rejects with `private_network_blocked`, or with `database_unreachable`
 * and the reason `dns_failed`.
 */
export async function resolveTarget(
  host: string,
  port: number,
  policy: DialPolicy,
  database?: string,
  resolve: Resolve = systemResolve,
): Promise<DialTarget> {
  const name = host.replace(/^\[(.*)\]$/, '$1');
  // A malformed host is not an address, so it is reported as a fault of its field, not as a blocked network.
  if (!isHost(name)) throw badHost(name);
  const addresses = await addressesOf(name, resolve);
  const classes = addresses.map(({ address }) => classifyAddress(address));
  if (classes.includes('never')) {
    throw blocked(
      'The host resolves to a link-local or metadata address, which is never allowed; enter the address of a database.',
    );
  }
  if (classes.includes('private') && !policy.allow_private_networks) {
    throw blocked(
      'The host resolves to an address that is not public; set SVC_ALLOW_PRIVATE_NETWORKS=true to allow private and local addresses.',
    );
  }
  if (await isForbidden(addresses, port, policy, database, resolve)) {
    throw blocked('The host and port belong to this installation itself, which is never allowed; enter another database.');
  }
  const ordered = addresses.toSorted((a, b) => a.family - b.family);
  return { host: name, port, ...ordered[0]!, addresses: ordered, private: classes.includes('private') };
}

/** Connects to the first checked address that answers. All attempts together take at most 10 s. */
export async function dialSocket(target: DialTarget, signal?: AbortSignal, timeout_ms = CONNECT_MS): Promise<net.Socket> {
  const ends = AbortSignal.any([AbortSignal.timeout(timeout_ms), ...(signal ? [signal] : [])]);
  let failure: unknown;
  for (const { address } of target.addresses) {
    try {
      return await connect(address, target.port, ends);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      failure = error;
      if (ends.aborted) break;
    }
  }
  throw unreachable(target, failure);
}

/**
 * `fetch` through the address guard: dials the checked address, uses the name for TLS and the Host header, follows no redirect.
 * Rejects as `resolveTarget` does; a failed connection is `database_unreachable`.
 */
export async function guardedFetch(
  url: string | URL,
  init: DialledInit,
  policy: DialPolicy,
  resolve: Resolve = systemResolve,
): Promise<Response> {
  const { protocol, hostname, host, port, pathname, search } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') throw malformed('Only http:// and https:// addresses are allowed.');
  const headers = new Headers(init.headers);
  // A few compressed bytes can unpack to any size before they are counted.
  headers.set('Accept-Encoding', 'identity');
  if (policy.network !== undefined) {
    const { tls: _, ...request } = init;
    return uncompressed(await policy.network.fetch(new URL(url), { ...request, headers }));
  }
  const number = Number(port || (protocol === 'https:' ? 443 : 80));
  const resolving = resolveTarget(hostname, number, policy, undefined, resolve);
  // A DNS lookup cannot be aborted, so it is abandoned.
  const target = await (init.signal ? untilAborted(init.signal, resolving) : resolving);
  headers.set('Host', host);
  const tls = { ...init.tls, ...(net.isIP(target.host) ? {} : { serverName: target.host }) };
  const send = policy.fetch ?? fetchUnpacked;
  let failure: unknown;
  for (const { address, family } of target.addresses) {
    const dialled = `${protocol}//${family === 6 ? `[${address}]` : address}:${number}${pathname}${search}`;
    try {
      return await uncompressed(await send(dialled, { ...init, headers, tls }));
    } catch (error) {
      if (init.signal?.aborted || error instanceof AppError) throw error;
      failure = error;
      if (!NEVER_OPENED.has(codeOf(error))) break;
    }
  }
  throw unreachable(target, failure);
}

const fetchUnpacked: DialledFetch = (url, init) => fetch(url, { ...init, redirect: 'manual', decompress: false } as RequestInit);

async function uncompressed(response: Response): Promise<Response> {
  if ((response.headers.get('Content-Encoding') ?? 'identity') === 'identity') return response;
  await response.body?.cancel();
  const detail = 'The server compressed its answer although Sluice did not accept that; turn compression off there.';
  throw new AppError('database_unreachable', detail, { reason: 'failed' });
}

async function addressesOf(name: string, resolve: Resolve): Promise<readonly ResolvedAddress[]> {
  const found = await resolve(name).catch((error: unknown) => {
    throw dnsFailed(name, error);
  });
  if (found.length === 0) throw dnsFailed(name);
  return found;
}

async function isForbidden(
  addresses: readonly ResolvedAddress[],
  port: number,
  policy: DialPolicy,
  database: string | undefined,
  resolve: Resolve,
): Promise<boolean> {
  const reached = new Set(addresses.map(({ address }) => canonicalAddress(address)));
  for (const entry of [...policy.forbidden, ...((await policy.forbiddenNow?.()) ?? [])]) {
    if (entry.port !== port) continue;
    if (entry.database !== undefined && database !== undefined && entry.database !== database) continue;
    const forbidden = await resolve(entry.host).catch(() => []);
    if (forbidden.some(({ address }) => reached.has(canonicalAddress(address)))) return true;
  }
  return false;
}

function connect(host: string, port: number, signal: AbortSignal): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host, port });
    const fail = (error: unknown) => {
      signal.removeEventListener('abort', abort);
      socket.destroy();
      reject(error);
    };
    const abort = () => fail(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    // The new owner of the socket learns of an error from `close`. Without a listener the error would end the process.
    socket.on('error', () => undefined);
    socket.once('error', fail);
    socket.once('connect', () => {
      signal.removeEventListener('abort', abort);
      socket.removeListener('error', fail);
      socket.setNoDelay(true);
      resolve(socket);
    });
  });
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

function unreachable(target: DialTarget, cause: unknown): AppError {
  const address = `${target.host}, port ${target.port}`;
  const code = codeOf(cause);
  const [reason, detail] =
    code === 'ECONNREFUSED'
      ? ['refused', `Nothing accepts connections at ${address}; check the host, the port and that the server is running.`]
      : code === 'TimeoutError' || code === 'ETIMEDOUT'
        ? ['timeout', `${address} did not answer in time; check the host, the port and the firewall.`]
        : code === NO_TLS
          ? ['tls_failed', `${address} does not speak TLS; check the port.`]
          : isTlsCode(code)
            ? ['tls_failed', `${address} has no trusted certificate for its name; check the host name and the certificate.`]
            : ['failed', `The connection to ${address} failed; check the host, the port and the network.`];
  return new AppError('database_unreachable', detail, { reason, cause });
}

/** Bun's code for a handshake that is answered with something other than TLS, such as plain HTTP. */
const NO_TLS = 'EPROTO';

function isTlsCode(code: string): boolean {
  return /CERT|TLS|SSL|SIGNATURE/.test(code);
}

function dnsFailed(name: string, cause?: unknown): AppError {
  const detail = `The name ${name} does not resolve to an address; check its spelling and the name server.`;
  return new AppError('database_unreachable', detail, { reason: 'dns_failed', cause });
}

function blocked(detail: string): AppError {
  return new AppError('private_network_blocked', detail, { reason: 'private_network_blocked' });
}
