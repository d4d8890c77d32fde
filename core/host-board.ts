import type { McpToken } from '#core/contract/access.ts';
import type { HostAck, HostState } from '#core/contract/deploy.ts';
import type { Sealed, Snapshot, SnapshotContent } from '#snapshots/format.ts';
import type * as v from 'valibot';

/** What the server says on a host's stream (contract section 0). A snapshot without content is the one the host has. */
export type HostEvent =
  | { readonly event: 'snapshot'; readonly data: (Omit<Snapshot, 'content'> & { readonly content?: SnapshotContent }) | string }
  | { readonly event: 'listen'; readonly data: { readonly host: string; readonly port: number; readonly request_id: string } }
  | { readonly event: 'tokens'; readonly data: { readonly tokens: readonly LiveToken[] } }
  | { readonly event: 'stop'; readonly data: Record<string, never> }
  | { readonly event: 'ping'; readonly data: Record<string, never> };

/** An access token as hosts check it: SHA-256 of the token, and its bcrypt hash sealed as `mcp_token/<id>/secret_hash`. */
export interface LiveToken extends McpToken {
  readonly digest: string;
  readonly secret_hash: Sealed;
}

export interface Acknowledgement {
  readonly boot_id: string;
  readonly version: number | null;
  readonly checksum: string | null;
  readonly load_ms: number | null;
  readonly url: string | null;
  readonly error: string | null;
  readonly request_id: string | null;
}

type HostAck = v.InferOutput<typeof HostAck>;

/** The hosts connected to this server, what they serve, and who waits for their answers. */
export interface HostBoard {
  /** @returns a function that ends the connection. A second connection of one id replaces the first. */
  connect(id: string, send: (event: HostEvent) => void): () => void;
  acknowledge(id: string, ack: Acknowledgement): void;
  /** @param event one for all, or made for what a host serves: `<version>:<checksum>`, or null. */
  publish(event: HostEvent | ((have: string | null) => HostEvent)): void;
  list(): HostState[];
  /** ms since some host was connected; 0 while one is. */
  absent_ms(): number;
  /** Answers when every host connected now, or the first to come, serves the checksum, or after `timeout_ms`. */
  acknowledged(checksum: string, timeout_ms: number): Promise<HostAck[]>;
  /** Asks every host to open an address; answers their refusals. */
  probe(host: string, port: number, request_id: string, timeout_ms: number): Promise<string[]>;
}

interface Connected {
  readonly send: (event: HostEvent) => void;
  readonly connected_at: string;
  ack: Acknowledgement | null;
}

export function createHostBoard(clock: () => Date): HostBoard {
  const hosts = new Map<string, Connected>();
  const waiters = new Set<(id: string, ack: Acknowledgement) => void>();
  let last_seen = clock().getTime();
  const publish: HostBoard['publish'] = (event) => {
    for (const { send, ack } of hosts.values()) {
      const serves = ack !== null && ack.error === null && ack.version !== null;
      send(typeof event === 'function' ? event(serves ? `${ack.version}:${ack.checksum}` : null) : event);
    }
  };

  /** Collects acknowledgements until `done` says so or the time is over. */
  const collect = (timeout_ms: number, done: () => boolean, take: (id: string, ack: Acknowledgement) => void): Promise<void> => {
    if (done()) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        waiters.delete(listener);
        resolve();
      };
      const listener = (id: string, ack: Acknowledgement) => {
        take(id, ack);
        if (done()) finish();
      };
      const timer = setTimeout(finish, timeout_ms);
      waiters.add(listener);
    });
  };

  return {
    connect(id, send) {
      const host: Connected = { send, connected_at: clock().toISOString(), ack: null };
      hosts.set(id, host);
      return () => {
        if (hosts.get(id) === host) hosts.delete(id);
        last_seen = clock().getTime();
      };
    },
    acknowledge(id, ack) {
      const host = hosts.get(id);
      if (host !== undefined && ack.request_id === null) host.ack = ack;
      for (const waiter of waiters) waiter(id, ack);
    },
    publish,
    list: () =>
      [...hosts].map(([id, host]) => ({
        id,
        url: host.ack?.url ?? null,
        snapshot_version: host.ack?.version ?? null,
        connected_at: host.connected_at,
      })),
    absent_ms: () => (hosts.size > 0 ? 0 : clock().getTime() - last_seen),
    async acknowledged(checksum, timeout_ms) {
      const started = performance.now();
      const answers = new Map<string, HostAck>();
      for (const [id, host] of hosts) {
        if (host.ack?.checksum === checksum && host.ack.error === null) {
          answers.set(id, { id, acked_ms: 0, load_ms: host.ack.load_ms, error: null });
        }
      }
      const done = () => hosts.size > 0 && [...hosts.keys()].every((id) => answers.has(id));
      await collect(timeout_ms, done, (id, ack) => {
        if (ack.request_id !== null || (ack.error === null && ack.checksum !== checksum)) return;
        answers.set(id, { id, acked_ms: round(performance.now() - started), load_ms: ack.load_ms, error: ack.error });
      });
      return [...hosts.keys()].map((id) => answers.get(id) ?? { id, acked_ms: null, load_ms: null, error: null });
    },
    async probe(host, port, request_id, timeout_ms) {
      const waiting = new Set(hosts.keys());
      const refusals: string[] = [];
      const answered = collect(
        timeout_ms,
        () => waiting.size === 0,
        (id, ack) => {
          if (ack.request_id !== request_id) return;
          waiting.delete(id);
          if (ack.error !== null) refusals.push(ack.error);
        },
      );
      publish({ event: 'listen', data: { host, port, request_id } });
      await answered;
      return refusals;
    },
  };
}

const round = (ms: number): number => Math.round(ms * 100) / 100;
