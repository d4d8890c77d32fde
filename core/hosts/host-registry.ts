import { createLock } from '#core/store/open.ts';
import type * as v from 'valibot';
import { type HostAck, type HostState, isNetworkHost } from '#core/contract/deploy/deploy.ts';
import { Acknowledgement, type HostEvent } from '#core/contract/deploy/control.ts';
import { createConfirmedLists, isListName } from './confirmed-lists.ts';

type HostAck = v.InferOutput<typeof HostAck>;

/** A host as the servers of an installation share it through the database. */
export interface SharedHost extends HostState {
  /** Id of its present connection, to any server. */
  readonly connection: string;
  readonly acks: number;
  readonly checksum: string | null;
  readonly load_ms: number | null;
  readonly probe: string | null;
  readonly probe_error: string | null;
}

/** Shares the hosts of this server with other servers. */
export interface Sharing {
  connected(id: string, connection: string, connected_at: string): void;
  gone(id: string, connection: string): void;
  acknowledged(id: string, ack: Acknowledgement): void;
  /** A host has confirmed the list of this name. */
  confirmed(id: string, list: string): void;
  probe(request: { readonly host: string; readonly port: number; readonly request_id: string }): Promise<void>;
  /** Reads the hosts of other servers. */
  refresh(): Promise<void>;
  /** Resolves when other servers can read everything that was shared so far. */
  settled(): Promise<void>;
}

/** The hosts of the installation, with their snapshots and answers. */
export interface HostRegistry {
  /** @returns a function that ends the connection. A second connection with the same id replaces the first. */
  connect(id: string, send: (event: HostEvent) => void): () => void;
  acknowledge(id: string, ack: Acknowledgement): void;
  /** Sends to the hosts of this server. @param event one for all, or one per host, from what it serves: `<version>:<checksum>` or null. */
  publish(event: HostEvent | ((have: string | null) => HostEvent)): void;
  /** The snapshot of each host of this server, in the form of `publish`. */
  serving(): (string | null)[];
  /** The hosts of all servers. */
  list(): HostState[];
  /** Milliseconds since a listening host was connected last; 0 while one is. */
  absent_ms(): number;
  /**
   * Resolves when every connected host serves the checksum, or after `timeout_ms`. While none is connected it waits for the first one,
   * or resolves at once when none is expected.
   */
  acknowledged(checksum: string, timeout_ms: number, is_expected: boolean): Promise<HostAck[]>;
  /** Sends a request, and waits until every host has answered it. @returns the refusals. */
  answers(request_id: string, timeout_ms: number, send: () => Promise<void> | void): Promise<string[]>;
  /** Runs work that sends lists of tokens or identity, one at a time, so that an older list never arrives last. */
  sendList<T>(work: () => Promise<T>): Promise<T>;
  /** Sends a list, and waits until all hosts have confirmed it, at most `timeout_ms`. @param list its name. */
  sendAndConfirm(list: string, timeout_ms: number, send: () => Promise<unknown>): Promise<void>;
  /** A host of any server has confirmed a list. */
  confirmed(id: string, list: string): void;
  /** Has every host try to listen on an address. @returns the refusals. */
  probe(host: string, port: number, request_id: string, timeout_ms: number): Promise<string[]>;
  /** Whether anything waits for an answer of a host. */
  awaited(): boolean;
  /** Shares the hosts of this server with other servers from now on. */
  share(sharing: Sharing): void;
  refresh(): Promise<void>;
  settled(): Promise<void>;
  /** Updates the hosts of all servers from the database, including those of this server. */
  learn(hosts: readonly SharedHost[]): void;
  /** The connections of this server, by host. */
  local(): ReadonlyMap<string, LocalHost>;
}

export interface LocalHost {
  readonly connection: string;
  readonly connected_at: string;
  readonly ack: Acknowledgement | null;
  /** Number of its answers that this server knows of. Distinguishes a new answer from a known one. */
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
  confirmed: () => undefined,
  probe: async () => undefined,
  refresh: async () => undefined,
  settled: async () => undefined,
};

class KnownHosts implements HostRegistry {
  readonly #clock: () => Date;
  readonly #local = new Map<string, Connected>();
  readonly #others = new Map<string, SharedHost>();
  /** The last state read of each host: `<connection>:<acks>:<probe>`. */
  readonly #last_learned = new Map<string, string>();
  readonly #waiters = new Set<(id: string, ack: Acknowledgement) => void>();
  /** Hosts that missed a timeout, by the time they connected. They are not waited for again until they answer or reconnect. */
  readonly #silent = new Map<string, string>();
  #sharing = ALONE;
  #last_seen: number;
  readonly #lists = createConfirmedLists(() => this.#all().keys());
  readonly sendList = createLock();

  constructor(clock: () => Date) {
    this.#clock = clock;
    this.#last_seen = clock().getTime();
  }

  publish(event: HostEvent | ((have: string | null) => HostEvent)): void {
    for (const host of this.#local.values()) host.send(typeof event === 'function' ? event(haveOf(host)) : event);
  }

  async answers(request_id: string, timeout_ms: number, send: () => Promise<void> | void): Promise<string[]> {
    const waiting = new Set([...this.#all()].filter(([id, host]) => !this.#isSilent(id, host)).map(([id]) => id));
    const refusals: string[] = [];
    const answered = this.#collect(
      timeout_ms,
      () => waiting.size === 0,
      (id, ack) => {
        if (ack.request_id !== request_id) return;
        waiting.delete(id);
        if (ack.error !== null) refusals.push(ack.error);
      },
    );
    await send();
    await answered;
    this.#noteSilent(waiting);
    return refusals;
  }

  connect(id: string, send: (event: HostEvent) => void): () => void {
    const connection = crypto.randomUUID();
    const host: Connected = { send, connection, connected_at: this.#clock().toISOString(), ack: null, acks: 0 };
    this.#local.set(id, host);
    this.#others.delete(id);
    this.#sharing.connected(id, connection, host.connected_at);
    return () => {
      if (this.#local.get(id) === host) this.#local.delete(id);
      if (isNetworkHost(id)) this.#last_seen = this.#clock().getTime();
      this.#lists.forgetDisconnected();
      this.#sharing.gone(id, connection);
    };
  }

  acknowledge(id: string, ack: Acknowledgement): void {
    if (ack.request_id !== null && isListName(ack.request_id)) {
      this.#lists.confirm(id, ack.request_id);
      return this.#sharing.confirmed(id, ack.request_id);
    }
    const host = this.#local.get(id);
    if (host !== undefined && ack.request_id === null) host.acks += 1;
    this.#receive(id, ack);
    this.#sharing.acknowledged(id, ack);
  }

  serving(): (string | null)[] {
    return [...this.#local.values()].map(haveOf);
  }

  list(): HostState[] {
    return [...this.#all()]
      .map(([id, { ack, connected_at }]) => ({
        id,
        url: ack?.url ?? null,
        snapshot_version: ack?.version ?? null,
        connected_at,
        error: ack?.error ?? null,
      }))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  absent_ms(): number {
    return [...this.#all().keys()].some(isNetworkHost) ? 0 : this.#clock().getTime() - this.#last_seen;
  }

  async acknowledged(checksum: string, timeout_ms: number, is_expected: boolean): Promise<HostAck[]> {
    const started = performance.now();
    const answers = new Map<string, HostAck>();
    for (const [id, { ack }] of this.#all()) {
      if (ack?.checksum === checksum && ack.error === null) {
        answers.set(id, { id, acked_ms: 0, load_ms: ack.load_ms, error: null });
      }
    }
    const before = this.#all();
    const waited = (id: string, host: Known) => !answers.has(id) && !this.#isSilent(id, host);
    const done = () =>
      (this.#local.size + this.#others.size > 0 || !is_expected) && ![...this.#all()].some(([id, host]) => waited(id, host));
    await this.#collect(timeout_ms, done, (id, ack) => {
      if (ack.request_id !== null || (ack.error === null && ack.checksum !== checksum)) return;
      answers.set(id, { id, acked_ms: round(performance.now() - started), load_ms: ack.load_ms, error: ack.error });
    });
    const after = [...this.#all()];
    // A host that connected since the start had less time.
    const unanswered = after.filter(([id, host]) => waited(id, host) && before.get(id)?.connected_at === host.connected_at);
    this.#noteSilent(unanswered.map(([id]) => id));
    return after.map(([id]) => answers.get(id) ?? { id, acked_ms: null, load_ms: null, error: null });
  }

  sendAndConfirm(list: string, timeout_ms: number, send: () => Promise<unknown>): Promise<void> {
    return this.#lists.sendAndWait(list, timeout_ms, send);
  }

  confirmed(id: string, list: string): void {
    this.#lists.confirm(id, list);
  }

  probe(host: string, port: number, request_id: string, timeout_ms: number): Promise<string[]> {
    return this.answers(request_id, timeout_ms, async () => {
      this.publish({ event: 'listen', data: { host, port, request_id } });
      if (this.#others.size > 0) await this.#sharing.probe({ host, port, request_id });
    });
  }

  awaited(): boolean {
    return this.#waiters.size > 0;
  }

  share(next: Sharing): void {
    this.#sharing = next;
  }

  refresh(): Promise<void> {
    return this.#sharing.refresh();
  }

  settled(): Promise<void> {
    return this.#sharing.settled();
  }

  learn(hosts: readonly SharedHost[]): void {
    const before = [...this.#others.keys()];
    this.#others.clear();
    for (const host of hosts) if (this.#local.get(host.id)?.connection !== host.connection) this.#others.set(host.id, host);
    if (before.some(isNetworkHost) && ![...this.#others.keys()].some(isNetworkHost)) this.#last_seen = this.#clock().getTime();
    if (before.some((id) => !this.#others.has(id))) this.#lists.forgetDisconnected();
    for (const host of hosts) this.#learnAnswers(host);
    for (const id of this.#last_learned.keys()) if (!hosts.some((host) => host.id === id)) this.#last_learned.delete(id);
  }

  local(): ReadonlyMap<string, LocalHost> {
    return this.#local;
  }

  /** A host that is connected to another server belongs to that one, even if its old connection here has not ended yet. */
  #all(): Map<string, Known> {
    return new Map<string, Known>([...this.#local, ...[...this.#others].map(([id, host]) => [id, toKnown(host)] as const)]);
  }

  #receive(id: string, ack: Acknowledgement): void {
    const host = this.#local.get(id);
    this.#silent.delete(id);
    if (host !== undefined && ack.request_id === null) host.ack = ack;
    for (const waiter of this.#waiters) waiter(id, ack);
  }

  /** Takes in what a host answered to any server since it was last read. */
  #learnAnswers(host: SharedHost): void {
    const news = `${host.connection}:${host.acks}:${host.probe}`;
    if (this.#last_learned.get(host.id) === news) return;
    this.#last_learned.set(host.id, news);
    const mine = this.#local.get(host.id);
    const is_known = mine?.connection === host.connection && host.acks <= mine.acks;
    if (mine?.connection === host.connection) mine.acks = Math.max(mine.acks, host.acks);
    if (host.acks > 0 && !is_known) this.#receive(host.id, toAck(host, null));
    if (host.probe !== null) this.#receive(host.id, toAck({ ...host, error: host.probe_error }, host.probe));
  }

  #isSilent(id: string, { connected_at }: Known): boolean {
    return this.#silent.get(id) === connected_at;
  }

  /** @param unanswered ids of hosts that were connected all the time. */
  #noteSilent(unanswered: Iterable<string>): void {
    const present = this.#all();
    for (const id of this.#silent.keys()) if (!present.has(id)) this.#silent.delete(id);
    for (const id of unanswered) {
      const host = present.get(id);
      if (host !== undefined) this.#silent.set(id, host.connected_at);
    }
  }

  /** Passes acknowledgements on until `done` returns true or the time is over. */
  #collect(timeout_ms: number, done: () => boolean, note: (id: string, ack: Acknowledgement) => void): Promise<void> {
    if (done()) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        this.#waiters.delete(listener);
        resolve();
      };
      const listener = (id: string, ack: Acknowledgement) => {
        note(id, ack);
        if (done()) finish();
      };
      const timer = setTimeout(finish, timeout_ms);
      this.#waiters.add(listener);
    });
  }
}

/** What a host serves: `<version>:<checksum>`. */
const haveOf = ({ ack }: Connected): string | null =>
  ack !== null && ack.error === null && ack.version !== null ? `${ack.version}:${ack.checksum}` : null;

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

export const createHosts = (clock: () => Date): WithHosts => ({ hosts: new KnownHosts(clock) });

export interface WithHosts {
  readonly hosts: HostRegistry;
}
