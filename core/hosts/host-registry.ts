import { createLock } from '#core/store/open.ts';
import { type HostAck, type HostState, isNetworkHost } from '#core/contract/deploy/deploy.ts';
import {
  type Acknowledgement,
  type HostEvent,
  type HostOrigin,
  SIGN_OF_LIFE,
  type SignOfLife,
} from '#core/contract/deploy/control.ts';
import { ALONE, type SharedHost, type Sharing } from './sharing.ts';
import { createConfirmedLists, isListName } from './confirmed-lists.ts';

/** The hosts of the installation, with their snapshots and answers. */
export interface HostRegistry {
  /**
   * @param onSilent for hosts that give signs of life: called when there has been none for `SIGN_OF_LIFE.silent_ms`.
   * @returns a function that ends the connection. A second connection with the same id replaces the first.
   */
  connect(id: string, send: (event: HostEvent) => void, onSilent?: (() => void) | null, origin?: HostOrigin): () => void;
  /** A host, wherever it is connected, has given a sign of life. */
  alive(id: string, sign: SignOfLife): void;
  /** Milliseconds since the last sign of life of a host of this server; 0 for any other host. */
  silent_ms(id: string): number;
  /** Finds hosts without a sign of life. Call it every `CHECK_SIGNS_MS`. */
  checkSigns(): void;
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
  /** The state of the deployment that the hosts of this server were sent last, in the form of `stateOf`. Null: none, or not known. */
  sent: string | null;
  /** The connections of this server, by host. */
  local(): ReadonlyMap<string, LocalHost>;
}

export interface LocalHost {
  readonly origin: HostOrigin;
  readonly connection: string;
  readonly connected_at: string;
  readonly ack: Acknowledgement | null;
  readonly disk_fault: string | null;
  /** Number of its answers that this server knows of. Distinguishes a new answer from a known one. */
  readonly acks: number;
}

/** How often `checkSigns` is called. When a call is late, this process stood still, and signs wait in its sockets. */
export const CHECK_SIGNS_MS = 1_000;
const LATE_MS = 3 * CHECK_SIGNS_MS;

interface Connected extends LocalHost {
  readonly send: (event: HostEvent) => void;
  readonly onSilent: (() => void) | null;
  /** Ticks of the last sign of life, and the last one that came by way of another server. */
  signed_at: number;
  signed_elsewhere: number | null;
  ack: Acknowledgement | null;
  disk_fault: string | null;
  acks: number;
}

const NO_ORIGIN: HostOrigin = { address: null, program_version: null };

/** A host and its last answer, wherever it is connected. */
interface Known {
  readonly origin: HostOrigin;
  readonly connected_at: string;
  readonly ack: Pick<Acknowledgement, 'version' | 'checksum' | 'load_ms' | 'url' | 'error' | 'disk_fault'> | null;
  readonly disk_fault: string | null;
}

class KnownHosts implements HostRegistry {
  readonly #clock: () => Date;
  /** Monotonic, in ms. */
  readonly #ticks: () => number;
  readonly #local = new Map<string, Connected>();
  readonly #others = new Map<string, SharedHost>();
  /** The last state read of each host: `<connection>:<acks>:<probe>`. */
  readonly #last_learned = new Map<string, string>();
  readonly #waiters = new Set<(id: string, ack: Acknowledgement) => void>();
  /** Hosts that missed a timeout, by the time they connected. They are not waited for again until they answer or reconnect. */
  readonly #silent = new Map<string, string>();
  #sharing = ALONE;
  #last_seen: number;
  /** Ticks of the last call of `checkSigns`, and since when it knows of every sign. */
  #checked_at: number;
  #complete_since: number;
  readonly #lists = createConfirmedLists(() => this.#all().keys());
  readonly sendList = createLock();
  sent: string | null = null;

  constructor(clock: () => Date, ticks: () => number) {
    this.#clock = clock;
    this.#ticks = ticks;
    this.#last_seen = clock().getTime();
    this.#checked_at = this.#complete_since = ticks();
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

  connect(id: string, send: (event: HostEvent) => void, onSilent: (() => void) | null = null, origin = NO_ORIGIN): () => void {
    const connection = crypto.randomUUID();
    const connected_at = this.#clock().toISOString();
    const signs = { onSilent, signed_at: this.#ticks(), signed_elsewhere: null };
    const host: Connected = { send, origin, connection, connected_at, ack: null, disk_fault: null, acks: 0, ...signs };
    this.#local.set(id, host);
    this.#others.delete(id);
    this.#sharing.connected(id, { connection, connected_at, origin });
    return () => {
      if (this.#local.get(id) === host) this.#local.delete(id);
      if (isNetworkHost(id)) this.#last_seen = this.#clock().getTime();
      this.#lists.forgetDisconnected();
      this.#sharing.gone(id, connection);
    };
  }

  alive(id: string, sign: SignOfLife): void {
    const host = this.#local.get(id);
    if (host?.disk_fault !== sign.disk_fault) this.#sharing.alive(id, sign);
    if (host === undefined) return;
    host.signed_at = this.#ticks();
    host.disk_fault = sign.disk_fault;
  }

  silent_ms(id: string): number {
    const host = this.#local.get(id);
    if (host === undefined || host.onSilent === null) return 0;
    return this.#ticks() - Math.max(host.signed_at, this.#complete_since);
  }

  checkSigns(): void {
    const now = this.#ticks();
    if (now - this.#checked_at > LATE_MS || !this.#sharing.readable()) this.#complete_since = now;
    this.#checked_at = now;
    for (const { signed_at, onSilent } of this.#local.values()) {
      if (now - Math.max(signed_at, this.#complete_since) > SIGN_OF_LIFE.silent_ms) onSilent?.();
    }
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
      .map(([id, { ack, disk_fault, connected_at, origin }]) => ({
        id,
        url: ack?.url ?? null,
        snapshot_version: ack?.version ?? null,
        connected_at,
        error: ack?.error ?? null,
        disk_fault,
        ...origin,
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
        answers.set(id, { id, acked_ms: 0, load_ms: ack.load_ms, error: null, ...diskFaultOf(ack) });
      }
    }
    const before = this.#all();
    const waited = (id: string, host: Known) => !answers.has(id) && !this.#isSilent(id, host);
    const done = () =>
      (this.#local.size + this.#others.size > 0 || !is_expected) && ![...this.#all()].some(([id, host]) => waited(id, host));
    await this.#collect(timeout_ms, done, (id, ack) => {
      if (ack.request_id !== null || (ack.error === null && ack.checksum !== checksum)) return;
      answers.set(id, {
        id,
        acked_ms: round(performance.now() - started),
        load_ms: ack.load_ms,
        error: ack.error,
        ...diskFaultOf(ack),
      });
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
    for (const host of hosts) {
      this.#learnSign(host);
      this.#learnAnswers(host);
    }
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
    if (host !== undefined && ack.request_id === null) [host.ack, host.disk_fault] = [ack, ack.disk_fault ?? null];
    for (const waiter of this.#waiters) waiter(id, ack);
  }

  #learnSign({ id, connection, signed_at, disk_fault }: SharedHost): void {
    const mine = this.#local.get(id);
    if (mine?.connection !== connection || signed_at === mine.signed_elsewhere) return;
    mine.signed_elsewhere = signed_at;
    mine.signed_at = this.#ticks();
    mine.disk_fault = disk_fault;
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

const diskFaultOf = ({ disk_fault }: Pick<Acknowledgement, 'disk_fault'>) => typeof disk_fault === 'string' && { disk_fault };

const toKnown = (host: SharedHost): Known => ({
  origin: { address: host.address, program_version: host.program_version },
  connected_at: host.connected_at,
  disk_fault: host.disk_fault,
  ack: host.acks === 0 ? null : toAck(host, null),
});

const toAck = (host: SharedHost, request_id: string | null): Acknowledgement => ({
  boot_id: host.connection,
  version: host.snapshot_version,
  checksum: host.checksum,
  load_ms: host.load_ms,
  url: host.url,
  error: host.error,
  disk_fault: host.disk_fault,
  request_id,
});

const round = (ms: number): number => Math.round(ms * 100) / 100;

export const createHosts = (clock: () => Date, ticks = () => performance.now()): WithHosts => ({
  hosts: new KnownHosts(clock, ticks),
});

export interface WithHosts {
  readonly hosts: HostRegistry;
}
