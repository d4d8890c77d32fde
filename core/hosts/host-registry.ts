import { createLock, type Lock } from '#core/store/open.ts';
import type * as v from 'valibot';
import { type HostAck, type HostState, isNetworkHost } from '#core/contract/deploy/deploy.ts';
import { Acknowledgement, type HostEvent } from '#core/contract/deploy/control.ts';
import { createConfirmedLists, isListName } from './confirmed-lists.ts';

type HostAck = v.InferOutput<typeof HostAck>;

/** A host as the servers of an installation tell each other of it. */
export interface SharedHost extends HostState {
  /** Name of its present connection, to whichever server. */
  readonly connection: string;
  readonly acks: number;
  readonly checksum: string | null;
  readonly load_ms: number | null;
  readonly probe: string | null;
  readonly probe_error: string | null;
}

/** What other servers are to hear of. */
export interface Sharing {
  connected(id: string, connection: string, connected_at: string): void;
  gone(id: string, connection: string): void;
  acknowledged(id: string, ack: Acknowledgement): void;
  /** A host has taken the list of this name. */
  taken(id: string, list: string): void;
  probe(request: { readonly host: string; readonly port: number; readonly request_id: string }): Promise<void>;
  /** Reads what other servers say. */
  refresh(): Promise<void>;
  /** Resolves when they can read what was told so far. */
  settled(): Promise<void>;
}

/** The hosts of the installation, what they serve, and who waits for their answers. */
export interface HostRegistry {
  /** @returns a function that ends the connection. A second connection of one id replaces the first. */
  connect(id: string, send: (event: HostEvent) => void): () => void;
  acknowledge(id: string, ack: Acknowledgement): void;
  /** To the hosts of this server. @param event one for all, or made for what a host serves: `<version>:<checksum>`, or null. */
  publish(event: HostEvent | ((have: string | null) => HostEvent)): void;
  /** What the hosts of this server serve, each as `publish` names it. */
  serving(): (string | null)[];
  /** Of every server. */
  list(): HostState[];
  /** ms since some host that listens was connected; 0 while one is. */
  absent_ms(): number;
  /**
   * Answers when every host connected now serves the checksum, or after `timeout_ms`; while none is connected, when the first to
   * come serves it, or at once when none is expected.
   */
  acknowledged(checksum: string, timeout_ms: number, is_expected: boolean): Promise<HostAck[]>;
  /** Has every host answer a request, which `tell` sends; answers their refusals. */
  answers(request_id: string, timeout_ms: number, tell: () => Promise<void> | void): Promise<string[]>;
  /** Tells hosts a list, and waits until all have taken it, at most `timeout_ms`. @param list its name. */
  told(list: string, timeout_ms: number, tell: () => Promise<unknown>): Promise<void>;
  /** A host of any server has taken a list. */
  taken(id: string, list: string): void;
  /** Asks every host to open an address; answers their refusals. */
  probe(host: string, port: number, request_id: string, timeout_ms: number): Promise<string[]>;
  /** Somebody waits for an answer. */
  awaited(): boolean;
  /** From now on other servers hear of these hosts. */
  share(sharing: Sharing): void;
  refresh(): Promise<void>;
  settled(): Promise<void>;
  /** What is known of the hosts of all servers now, those of this one included. */
  learn(hosts: readonly SharedHost[]): void;
  /** The connections of this server, by host. */
  local(): ReadonlyMap<string, LocalHost>;
}

export interface LocalHost {
  readonly connection: string;
  readonly connected_at: string;
  readonly ack: Acknowledgement | null;
  /** How often it answered, as far as this server knows. */
  readonly acks: number;
}

interface Connected extends LocalHost {
  readonly send: (event: HostEvent) => void;
  ack: Acknowledgement | null;
  acks: number;
}

/** A host and its last answer, wherever it is connected. */
interface Known {
  readonly connected_at: string;
  readonly ack: Pick<Acknowledgement, 'version' | 'checksum' | 'load_ms' | 'url' | 'error'> | null;
}

const ALONE: Sharing = {
  connected: () => undefined,
  gone: () => undefined,
  acknowledged: () => undefined,
  taken: () => undefined,
  probe: async () => undefined,
  refresh: async () => undefined,
  settled: async () => undefined,
};

export function createHostRegistry(clock: () => Date): HostRegistry {
  const local = new Map<string, Connected>();
  const others = new Map<string, SharedHost>();
  const heard = new Map<string, string>();
  const waiters = new Set<(id: string, ack: Acknowledgement) => void>();
  /** Hosts that left somebody waiting, with the connection of which that is true: they are not waited for again until they answer. */
  const silent = new Map<string, string>();
  let sharing = ALONE;
  let last_seen = clock().getTime();

  /** A host that another server has now is not ours any more, even where its old connection was not seen to end. */
  const all = (): Map<string, Known> =>
    new Map<string, Known>([...local, ...[...others].map(([id, host]) => [id, toKnown(host)] as const)]);
  const lists = createConfirmedLists(() => all().keys());
  const networkHosts = (): boolean => [...all().keys()].some(isNetworkHost);
  const haveOf = ({ ack }: Connected): string | null =>
    ack !== null && ack.error === null && ack.version !== null ? `${ack.version}:${ack.checksum}` : null;
  const publish: HostRegistry['publish'] = (event) => {
    for (const host of local.values()) host.send(typeof event === 'function' ? event(haveOf(host)) : event);
  };
  const take = (id: string, ack: Acknowledgement): void => {
    const host = local.get(id);
    silent.delete(id);
    if (host !== undefined && ack.request_id === null) host.ack = ack;
    for (const waiter of waiters) waiter(id, ack);
  };

  const isSilent = (id: string, { connected_at }: Known): boolean => silent.get(id) === connected_at;
  /** @param unanswered ids of hosts that were there all the time. */
  const noteSilent = (unanswered: Iterable<string>): void => {
    const present = all();
    for (const id of silent.keys()) if (!present.has(id)) silent.delete(id);
    for (const id of unanswered) {
      const host = present.get(id);
      if (host !== undefined) silent.set(id, host.connected_at);
    }
  };

  /** Collects acknowledgements until `done` says so or the time is over. */
  const collect = (timeout_ms: number, done: () => boolean, hear: (id: string, ack: Acknowledgement) => void): Promise<void> => {
    if (done()) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        waiters.delete(listener);
        resolve();
      };
      const listener = (id: string, ack: Acknowledgement) => {
        hear(id, ack);
        if (done()) finish();
      };
      const timer = setTimeout(finish, timeout_ms);
      waiters.add(listener);
    });
  };

  const answers: HostRegistry['answers'] = async (request_id, timeout_ms, tell) => {
    const waiting = new Set([...all()].filter(([id, host]) => !isSilent(id, host)).map(([id]) => id));
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
    await tell();
    await answered;
    noteSilent(waiting);
    return refusals;
  };

  return {
    connect(id, send) {
      const connection = crypto.randomUUID();
      const host: Connected = { send, connection, connected_at: clock().toISOString(), ack: null, acks: 0 };
      local.set(id, host);
      others.delete(id);
      sharing.connected(id, connection, host.connected_at);
      return () => {
        if (local.get(id) === host) local.delete(id);
        if (isNetworkHost(id)) last_seen = clock().getTime();
        lists.forgetGone();
        sharing.gone(id, connection);
      };
    },
    acknowledge(id, ack) {
      if (ack.request_id !== null && isListName(ack.request_id)) {
        lists.take(id, ack.request_id);
        return sharing.taken(id, ack.request_id);
      }
      const host = local.get(id);
      if (host !== undefined && ack.request_id === null) host.acks += 1;
      take(id, ack);
      sharing.acknowledged(id, ack);
    },
    publish,
    serving: () => [...local.values()].map(haveOf),
    list: () =>
      [...all()]
        .map(([id, { ack, connected_at }]) => ({
          id,
          url: ack?.url ?? null,
          snapshot_version: ack?.version ?? null,
          connected_at,
          error: ack?.error ?? null,
        }))
        .toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    absent_ms: () => (networkHosts() ? 0 : clock().getTime() - last_seen),
    async acknowledged(checksum, timeout_ms, is_expected) {
      const started = performance.now();
      const answers = new Map<string, HostAck>();
      for (const [id, { ack }] of all()) {
        if (ack?.checksum === checksum && ack.error === null) {
          answers.set(id, { id, acked_ms: 0, load_ms: ack.load_ms, error: null });
        }
      }
      const before = all();
      const waited = (id: string, host: Known) => !answers.has(id) && !isSilent(id, host);
      const done = () => (local.size + others.size > 0 || !is_expected) && ![...all()].some(([id, host]) => waited(id, host));
      await collect(timeout_ms, done, (id, ack) => {
        if (ack.request_id !== null || (ack.error === null && ack.checksum !== checksum)) return;
        answers.set(id, { id, acked_ms: round(performance.now() - started), load_ms: ack.load_ms, error: ack.error });
      });
      const after = [...all()];
      // One that came meanwhile has had less time.
      const unanswered = after.filter(([id, host]) => waited(id, host) && before.get(id)?.connected_at === host.connected_at);
      noteSilent(unanswered.map(([id]) => id));
      return after.map(([id]) => answers.get(id) ?? { id, acked_ms: null, load_ms: null, error: null });
    },
    answers,
    told: (list, timeout_ms, tell) => lists.wait(list, timeout_ms, tell),
    taken: (id, list) => lists.take(id, list),
    probe: (host, port, request_id, timeout_ms) =>
      answers(request_id, timeout_ms, async () => {
        publish({ event: 'listen', data: { host, port, request_id } });
        if (others.size > 0) await sharing.probe({ host, port, request_id });
      }),
    awaited: () => waiters.size > 0,
    share(next) {
      sharing = next;
    },
    refresh: () => sharing.refresh(),
    settled: () => sharing.settled(),
    learn(hosts) {
      const before = [...others.keys()];
      others.clear();
      for (const host of hosts) if (local.get(host.id)?.connection !== host.connection) others.set(host.id, host);
      if (before.some(isNetworkHost) && ![...others.keys()].some(isNetworkHost)) last_seen = clock().getTime();
      if (before.some((id) => !others.has(id))) lists.forgetGone();
      for (const host of hosts) {
        const news = `${host.connection}:${host.acks}:${host.probe}`;
        if (heard.get(host.id) === news) continue;
        heard.set(host.id, news);
        const mine = local.get(host.id);
        const is_told = mine?.connection === host.connection && host.acks <= mine.acks;
        if (mine?.connection === host.connection) mine.acks = Math.max(mine.acks, host.acks);
        if (host.acks > 0 && !is_told) take(host.id, toAck(host, null));
        if (host.probe !== null) take(host.id, toAck({ ...host, error: host.probe_error }, host.probe));
      }
      for (const id of heard.keys()) if (!hosts.some((host) => host.id === id)) heard.delete(id);
    },
    local: () => local,
  };
}

const toKnown = (host: SharedHost): Known => ({
  connected_at: host.connected_at,
  ack: host.acks === 0 ? null : toAck(host, null),
});

const toAck = (host: SharedHost, request_id: string | null): Acknowledgement => ({
  boot_id: host.connection,
  version: host.snapshot_version,
  checksum: host.checksum,
  load_ms: host.load_ms,
  url: host.url,
  error: host.error,
  request_id,
});

const round = (ms: number): number => Math.round(ms * 100) / 100;

export interface WithHosts {
  readonly hosts: HostRegistry;
  readonly token_lock: Lock;
}

export const createHosts = (clock: () => Date): WithHosts => ({ hosts: createHostRegistry(clock), token_lock: createLock() });
