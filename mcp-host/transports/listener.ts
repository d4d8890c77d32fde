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

/** The network address of the host. A new address is opened before the old one is closed. */
export interface Listener {
  /** Opens an address beside the current one for the next snapshot; rejects with `conflict` when it cannot be opened. */
  prepare(address: Address): Promise<void>;
  /** Makes an address the current one; the old one finishes its open exchanges, then closes. */
  use(address: Address): Promise<void>;
  current(): { readonly address: Address; readonly url: string } | null;
  /** Accepts no new connections and waits for open exchanges, at most `grace_ms`. */
  close(grace_ms: number): Promise<void>;
}

export interface ListenerOptions {
  readonly fetch: HostFetch;
  /** Ends the streams that a listener carries. */
  readonly endStreams: (listener: number) => void;
  /** Called with the URL of the new current address; null: there is none. */
  readonly onMove?: (url: string | null) => void;
  readonly log?: Log;
  /** How long a prepared address waits for its snapshot, in ms. */
  readonly prepared_ms?: number;
  /**
   * The same time for a prepared address that took over the port of the current one, because clients cannot reach that one until
   * then.
   */
  readonly in_place_ms?: number;
  /** Silent connections are closed after this time, except those of streams and running calls. */
  readonly idle_seconds?: number;
  /** How long exchanges of a replaced address may take. */
  readonly grace_ms?: number;
}

interface Open {
  readonly address: Address;
  readonly number: number;
  readonly server: BoundServer;
}

export const createListener = (options: ListenerOptions): Listener => new AddressListener(options);

class AddressListener implements Listener {
  readonly #options: ListenerOptions;
  readonly #grace_ms: number;
  #counter = 0;
  #current: Open | null = null;
  #prepared: (Open & { expiry: Timer }) | null = null;
  /** The address whose port a prepared one took over, or that was lost during a failed swap, until an address is used. */
  #displaced: Address | null = null;
  #reverting: Timer | undefined;
  readonly #closing = new Set<Promise<void>>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#grace_ms = options.grace_ms ?? 10_000;
  }

  prepare(address: Address): Promise<void> {
    return this.#inOrder(() => this.#prepare(address));
  }

  use(address: Address): Promise<void> {
    return this.#inOrder(() => this.#use(address));
  }

  current(): { readonly address: Address; readonly url: string } | null {
    return this.#current && { address: this.#current.address, url: urlOf(this.#current) };
  }

  close(grace: number): Promise<void> {
    return this.#inOrder(async () => {
      clearTimeout(this.#reverting);
      this.#displaced = null;
      this.#discard();
      if (this.#current !== null) void this.#retire(this.#current, grace);
      this.#setCurrent(null);
      await Promise.all(this.#closing);
    });
  }

  /** Runs changes of the address one after the other. */
  #inOrder<T>(change: () => Promise<T>): Promise<T> {
    const changed = this.#last.then(change);
    this.#last = changed.catch(() => undefined);
    return changed;
  }

  async #open(address: Address): Promise<Open> {
    const { fetch, idle_seconds, log } = this.#options;
    const number = ++this.#counter;
    try {
      const server = await serve({
        host: address.host,
        port: address.port,
        number,
        idle_seconds: idle_seconds ?? IDLE_SECONDS,
        // Above the limit of the host, so that the host answers with its limit.
        max_body_bytes: 2 * BODY_LIMIT,
        usual_path: MCP_PATH,
        fetch,
        fault(error) {
          log?.error('request_failed', { error: error.stack ?? error.message });
          return refuse(500, 'The server failed. See its log.', undefined, { code: RPC.internal });
        },
      });
      return { address, number, server };
    } catch (error) {
      throw new AppError('conflict', refusal(address, error), { cause: error });
    }
  }

  #retire(old: Open, grace = this.#grace_ms): Promise<void> {
    const stopped = old.server.stop(false);
    this.#options.endStreams(old.number);
    const closed = withTimeout(stopped, grace, () => undefined)
      .then(() => old.server.stop(true))
      .finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
    return closed;
  }

  #discard(): void {
    if (this.#prepared === null) return;
    clearTimeout(this.#prepared.expiry);
    void this.#retire(this.#prepared);
    this.#prepared = null;
  }

  #setCurrent(next: Open | null): void {
    this.#current = next;
    this.#options.onMove?.(next && urlOf(next));
  }

  #isCurrent(address: Address): boolean {
    return this.#current !== null && sameAddress(this.#current.address, address);
  }

  async #prepare(address: Address): Promise<void> {
    if (this.#prepared !== null && sameAddress(this.#prepared.address, address)) return;
    if (this.#isCurrent(address)) {
      if (this.#displaced !== null) this.#revertLater(this.#options.in_place_ms ?? 6_000);
      return;
    }
    this.#discard();
    await this.#revert();
    if (this.#isCurrent(address)) return;
    if (this.#current?.address.port === address.port && address.port !== 0) {
      const before = this.#current.address;
      await this.#swapOnPort(address);
      this.#displaced = before;
      this.#revertLater(this.#options.in_place_ms ?? 6_000);
      return;
    }
    const opened = await this.#open(address);
    this.#prepared = { ...opened, expiry: setTimeout(() => this.#discard(), this.#options.prepared_ms ?? 60_000) };
  }

  async #use(address: Address): Promise<void> {
    clearTimeout(this.#reverting);
    try {
      await this.#moveTo(address);
      this.#displaced = null;
    } catch (error) {
      if (this.#displaced !== null) this.#revertLater(RETRY_MS);
      throw error;
    }
  }

  async #moveTo(address: Address): Promise<void> {
    if (this.#isCurrent(address)) return this.#discard();
    if (this.#prepared !== null && sameAddress(this.#prepared.address, address)) {
      const next = this.#prepared;
      clearTimeout(next.expiry);
      this.#prepared = null;
      this.#replace(next);
      return;
    }
    this.#discard();
    if (this.#current?.address.port === address.port && address.port !== 0) {
      await this.#swapOnPort(address);
      return;
    }
    this.#replace(await this.#open(address));
  }

  #replace(next: Open): void {
    if (this.#current !== null) void this.#retire(this.#current);
    this.#setCurrent(next);
  }

  /**
   * Two addresses on one port may overlap (0.0.0.0 and 127.0.0.1): the old one is closed first, and reopened after a failure, as
   * soon as possible.
   */
  async #swapOnPort(address: Address): Promise<void> {
    const old = this.#current;
    if (old === null) return;
    void this.#retire(old);
    this.#setCurrent(null);
    try {
      this.#setCurrent(await this.#open(address));
    } catch (error) {
      const back = await this.#open(old.address).catch(() => null);
      this.#setCurrent(back);
      if (back === null) {
        this.#displaced ??= old.address;
        this.#revertLater(RETRY_MS);
      }
      throw error;
    }
  }

  /** Opens the displaced address again. While that fails, the host stays at its current address and tries again. */
  async #revert(): Promise<void> {
    clearTimeout(this.#reverting);
    if (this.#displaced === null) return;
    try {
      if (this.#current === null) this.#setCurrent(await this.#open(this.#displaced));
      else await this.#swapOnPort(this.#displaced);
      this.#displaced = null;
    } catch {
      this.#revertLater(RETRY_MS);
    }
  }

  #revertLater(ms: number): void {
    clearTimeout(this.#reverting);
    this.#reverting = setTimeout(() => void this.#inOrder(() => this.#revert()), ms);
  }
}

/** Time between two attempts to reopen an address, in ms. */
const RETRY_MS = 1_000;

/** The listener of a host without a network address. */
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
