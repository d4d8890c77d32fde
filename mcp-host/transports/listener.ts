import { IDLE_SECONDS } from '#core/edge/body.ts';
import { AppError } from '#core/errors.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import type { Log } from '#core/process/log.ts';
import { RPC } from '#mcp-host/protocol/messages.ts';
import { serve } from '#mcp-host/runtime/runtime.ts';
import type { BoundServer } from '#mcp-host/runtime/types.ts';
import { refuse } from '#mcp-host/protocol/replies.ts';
import { type HostFetch, MCP_PATH } from './http.ts';
import { BODY_LIMIT } from './body.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The network address of the host. A new one is open before the old one closes. */
export interface Listener {
  /** Opens an address beside the current one for the snapshot to come; rejects with `conflict` when it cannot be had. */
  prepare(address: Address): Promise<void>;
  /** Makes an address the current one; the old one finishes what it has begun, then closes. */
  use(address: Address): Promise<void>;
  current(): { readonly address: Address; readonly url: string } | null;
  /** Takes no new connections, waits for open exchanges, at most `grace_ms`. */
  close(grace_ms: number): Promise<void>;
}

export interface ListenerOptions {
  readonly fetch: HostFetch;
  /** Ends the streams that a listener carries. */
  readonly endStreams: (listener: number) => void;
  readonly log?: Log;
  /** How long a prepared address waits for its snapshot. */
  readonly prepared_ms?: number;
  /** The same for one that had to take the place of the current address, which nobody reaches meanwhile. */
  readonly in_place_ms?: number;
  /** Connections that say and hear nothing for so long are closed; those of streams and of calls that run are not. */
  readonly idle_seconds?: number;
  /** How long exchanges of a replaced address may take. */
  readonly grace_ms?: number;
}

interface Open {
  readonly address: Address;
  readonly number: number;
  readonly server: BoundServer;
}

export function createListener(options: ListenerOptions): Listener {
  const {
    fetch,
    endStreams,
    prepared_ms = 60_000,
    in_place_ms = 6_000,
    grace_ms = 10_000,
    idle_seconds = IDLE_SECONDS,
  } = options;
  let counter = 0;
  let current: Open | null = null;
  let prepared: (Open & { expiry: Timer }) | null = null;
  /** The address whose place a prepared one had to take, or that was lost on the way to another one, until one is used. */
  let displaced: Address | null = null;
  let reverting: Timer | undefined;
  const closing = new Set<Promise<void>>();
  let last: Promise<unknown> = Promise.resolve();
  /** One change of addresses after the other. */
  const inOrder = <T>(change: () => Promise<T>): Promise<T> => {
    const changed = last.then(change);
    last = changed.catch(() => undefined);
    return changed;
  };

  const open = async (address: Address): Promise<Open> => {
    const number = ++counter;
    try {
      const server = await serve({
        host: address.host,
        port: address.port,
        number,
        idle_seconds,
        // Beyond our own limit, so that our own answer names it.
        max_body_bytes: 2 * BODY_LIMIT,
        usual_path: MCP_PATH,
        fetch,
        fault(error) {
          options.log?.error('request_failed', { error: error.stack ?? error.message });
          return refuse(500, 'The server failed. See its log.', undefined, { code: RPC.internal });
        },
      });
      return { address, number, server };
    } catch (error) {
      throw new AppError('conflict', refusal(address, error), { cause: error });
    }
  };
  const retire = (old: Open, grace = grace_ms): Promise<void> => {
    const stopped = old.server.stop(false);
    endStreams(old.number);
    const closed = withTimeout(stopped, grace, () => undefined)
      .then(() => old.server.stop(true))
      .finally(() => closing.delete(closed));
    closing.add(closed);
    return closed;
  };
  const discard = () => {
    if (prepared === null) return;
    clearTimeout(prepared.expiry);
    void retire(prepared);
    prepared = null;
  };
  const isCurrent = (address: Address) => current !== null && sameAddress(current.address, address);

  return {
    prepare: (address) => inOrder(() => prepare(address)),
    use: (address) => inOrder(() => use(address)),
    current: () => current && { address: current.address, url: urlOf(current) },
    close: (grace) =>
      inOrder(async () => {
        clearTimeout(reverting);
        displaced = null;
        discard();
        if (current !== null) void retire(current, grace);
        current = null;
        await Promise.all(closing);
      }),
  };

  async function prepare(address: Address): Promise<void> {
    if (prepared !== null && sameAddress(prepared.address, address)) return;
    if (isCurrent(address)) {
      if (displaced !== null) revertLater(in_place_ms);
      return;
    }
    discard();
    await revert();
    if (isCurrent(address)) return;
    if (current?.address.port === address.port && address.port !== 0) {
      const before = current.address;
      await swapInPlace(address);
      displaced = before;
      revertLater(in_place_ms);
      return;
    }
    const opened = await open(address);
    prepared = { ...opened, expiry: setTimeout(discard, prepared_ms) };
  }

  async function use(address: Address): Promise<void> {
    clearTimeout(reverting);
    try {
      await moveTo(address);
      displaced = null;
    } catch (error) {
      if (displaced !== null) revertLater(RETRY_MS);
      throw error;
    }
  }

  async function moveTo(address: Address): Promise<void> {
    if (isCurrent(address)) return discard();
    if (prepared !== null && sameAddress(prepared.address, address)) {
      const next = prepared;
      clearTimeout(next.expiry);
      prepared = null;
      replace(next);
      return;
    }
    discard();
    if (current?.address.port === address.port && address.port !== 0) {
      await swapInPlace(address);
      return;
    }
    replace(await open(address));
  }

  function replace(next: Open): void {
    if (current !== null) void retire(current);
    current = next;
  }

  /** Two addresses of one port may overlap (0.0.0.0 and 127.0.0.1): the old one makes room first, and comes back on failure, as soon as it can. */
  async function swapInPlace(address: Address): Promise<void> {
    const old = current;
    if (old === null) return;
    void retire(old);
    current = null;
    try {
      current = await open(address);
    } catch (error) {
      current = await open(old.address).catch(() => null);
      if (current === null) {
        displaced ??= old.address;
        revertLater(RETRY_MS);
      }
      throw error;
    }
  }

  /** Goes back to the displaced address; while that cannot be had the host stays where it is, and tries again. */
  async function revert(): Promise<void> {
    clearTimeout(reverting);
    if (displaced === null) return;
    try {
      if (current === null) current = await open(displaced);
      else await swapInPlace(displaced);
      displaced = null;
    } catch {
      revertLater(RETRY_MS);
    }
  }

  function revertLater(ms: number): void {
    clearTimeout(reverting);
    reverting = setTimeout(() => void inOrder(revert), ms);
  }
}

/** Between two attempts to have an address back. */
const RETRY_MS = 1_000;

/** Of a host that is not on the network. */
export const NO_LISTENER: Listener = {
  prepare: () => Promise.resolve(),
  use: () => Promise.resolve(),
  current: () => null,
  close: () => Promise.resolve(),
};

const sameAddress = (a: Address, b: Address): boolean => a.host === b.host && a.port === b.port;

function urlOf({ server, address }: Open): string {
  const host = address.host === '0.0.0.0' || address.host === '::' ? '127.0.0.1' : address.host;
  return `http://${host.includes(':') ? `[${host}]` : host}:${server.port}`;
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program uses it',
  EACCES: 'this program has no permission to use it',
  EADDRNOTAVAIL: 'this machine does not have the address',
};

function refusal({ host, port }: Address, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return `The host cannot listen on ${host}, port ${port}: ${REASONS[code] ?? 'the system refused it'}. Choose another host or port.`;
}
