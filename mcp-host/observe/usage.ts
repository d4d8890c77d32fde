import type {
  HostLine,
  ListRead,
  CallGroup,
  CallNote,
  Calls,
  QueueGauge,
  Refusal,
  RunningCall,
} from '#core/contract/observe/usage-batch.ts';
import { type LogLine, toShortLine, type Log } from '#core/process/log.ts';
import { type UsageItem, withoutValues } from '#mcp-host/requests/usage-item.ts';
import type { TokenUse } from '#mcp-host/auth/bearer.ts';
import type { LoggedArguments } from '#core/contract/observe/logged-arguments.ts';
import type { Sealing } from '#core/lib/sealing.ts';

/** The newest lines of this host's log, which are sent to the live log of the server. */
export interface LineBuffer {
  add(line: LogLine): void;
  count(): number;
  /** Returns all lines and empties the buffer. */
  take(): HostLine[];
}

/**
 * Calls, log lines and queues to report to the server. They are stored in memory and sent in batches, so no call waits for them.
 */
export interface Usage {
  add(item: UsageItem): void;
  addList(list: ListRead): void;
  /** Sends everything while the server accepts it, at the end of the program. */
  flush(): Promise<void>;
  /** Items dropped because the server could not be reached for too long, or refused them. */
  dropped(): number;
  close(): void;
}

export interface Batch {
  readonly seq: number;
  readonly groups: readonly CallGroup[];
  readonly calls: Calls;
  readonly notes: readonly CallNote[];
  readonly lists?: readonly ListRead[];
  readonly lines: readonly HostLine[];
  readonly queues?: readonly QueueGauge[];
  readonly token_uses?: readonly TokenUse[];
  /** Absent: unchanged. */
  readonly running?: readonly RunningCall[];
  readonly refusals?: readonly Refusal[];
  readonly refused?: Readonly<Record<string, number>>;
}

export interface UsageOptions {
  /**
   * Rejects when the server did not accept the batch; it is sent again with the same `seq`, unless the status in the error rules
   * that out.
   */
  readonly send: (batch: Batch) => Promise<void>;
  readonly log: Log;
  readonly lines: LineBuffer;
  /** Encrypts arguments of calls; without it, arguments do not leave the host. */
  readonly sealing?: Pick<Sealing<LoggedArguments>, 'seal'>;
  readonly queues: () => QueueGauge[];
  /** Calls that have run for a while. */
  readonly running?: () => RunningCall[];
  /** Uses of access tokens to report now; each is returned once. */
  readonly takeUses?: () => TokenUse[];
  readonly interval_ms?: number;
  /** How long a busy host waits for a full batch: a large batch costs the server less than many small ones. */
  readonly patience_ms?: number;
  /** Requests that were refused before a call, since the last time. */
  readonly takeRefusals?: () => Pick<Batch, 'refusals' | 'refused'> | null;
  /** Queues are reported at least at this interval. */
  readonly heartbeat_ms?: number;
  readonly capacity?: number;
  /** Most calls in one batch: a batch has a fixed cost of about 600 calls for the server. */
  readonly batch_size?: number;
}

/** Most bytes of waiting arguments: a batch with all of them is far below the limit of the server. */
const MOST_HELD = 1024 * 1024;

/** Fewer calls than this are sent at once, because a person may be watching the log. */
const FEW = 100;

/** Statuses with which the server would refuse the same batch again. */
const REFUSED: ReadonlySet<unknown> = new Set([400, 413, 415, 422]);

/** After this many failures to store a batch, over half a minute or more, it is dropped, because the next batches may succeed. */
const MOST_FAULTS = 100;

const DEFAULTS = {
  running: (): RunningCall[] => [],
  takeUses: (): TokenUse[] => [],
  takeRefusals: (): Pick<Batch, 'refusals' | 'refused'> | null => null,
  interval_ms: 300,
  patience_ms: 1_000,
  heartbeat_ms: 10_000,
  capacity: 20_000,
  batch_size: 5_000,
};

type Settings = UsageOptions & typeof DEFAULTS;

export const createUsage = (options: UsageOptions): Usage => new UsageQueue({ ...DEFAULTS, ...options });

class UsageQueue implements Usage {
  readonly #options: Settings;
  #waiting: UsageItem[] = [];
  /** Bytes of the arguments in `waiting`. */
  #held = 0;
  #lists: ListRead[] = [];
  #batch: Batch | null = null;
  #seq = 0;
  #dropped = 0;
  #reported = '';
  #reported_at = Number.NEGATIVE_INFINITY;
  #sending: Promise<void> | null = null;
  #sent_at = Number.NEGATIVE_INFINITY;
  /** How often the server failed to store the current batch. */
  #faults = 0;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(options: Settings) {
    this.#options = options;
    this.#timer = setInterval(() => {
      if (this.#isDue()) void this.#tick(options.batch_size);
    }, options.interval_ms);
    this.#timer.unref();
  }

  add(item: UsageItem): void {
    if (this.#waiting.length >= this.#options.capacity) {
      const surplus = this.#waiting.length - this.#options.capacity + Math.ceil(this.#options.capacity / 10);
      this.#hold(this.#waiting.slice(surplus));
      this.#dropped += surplus;
    }
    const bytes = item.arguments?.bytes ?? 0;
    const fits = this.#held + bytes <= MOST_HELD;
    if (fits) this.#held += bytes;
    this.#waiting.push(fits || item.arguments === null ? item : { ...item, arguments: withoutValues(item.arguments) });
  }

  addList(list: ListRead): void {
    // When lists are read much more often than tools are called, a sample is enough.
    if (this.#lists.length < this.#options.batch_size) this.#lists.push(list);
  }

  async flush(): Promise<void> {
    await this.#sending;
    await this.#tick(1);
  }

  dropped(): number {
    return this.#dropped;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #hold(rest: UsageItem[]) {
    this.#waiting = rest;
    if (this.#held > 0) this.#held = rest.reduce((sum, item) => sum + (item.arguments?.bytes ?? 0), 0);
  }

  /** The queues and running calls, if they changed or the heartbeat is due; null: neither. */
  #report(): Required<Pick<Batch, 'queues' | 'running'>> | null {
    const gauges = this.#options.queues();
    const calls = this.#options.running();
    const mark = `${gauges.map(markOf).join()} ${calls.map(({ id, state }) => `${id} ${state}`).join()}`;
    if (mark === this.#reported && performance.now() - this.#reported_at < this.#options.heartbeat_ms) return null;
    this.#reported = mark;
    this.#reported_at = performance.now();
    return { queues: gauges, running: calls };
  }

  #nextBatch(): Batch | null {
    const gauges = this.#report();
    const token_uses = this.#options.takeUses();
    const refused = this.#options.takeRefusals();
    const is_idle =
      this.#waiting.length === 0 && this.#lists.length === 0 && this.#options.lines.count() === 0 && gauges === null;
    if (is_idle && token_uses.length === 0 && refused === null) return null;
    this.#sent_at = performance.now();
    const items = this.#waiting.slice(0, countOfBatch(this.#waiting, this.#options.batch_size));
    this.#hold(this.#waiting.slice(items.length));
    const read = this.#lists.length === 0 ? {} : { lists: this.#lists };
    this.#lists = [];
    const uses = token_uses.length === 0 ? {} : { token_uses };
    return {
      seq: ++this.#seq,
      ...toColumns(items, this.#options.sealing),
      lines: this.#options.lines.take(),
      ...gauges,
      ...uses,
      ...refused,
      ...read,
    };
  }

  /** @returns whether there is more to send that the server would accept now. */
  async #sendNext(): Promise<boolean> {
    const current = (this.#batch ??= this.#nextBatch());
    if (current === null) return false;
    try {
      await this.#options.send(current);
      this.#batch = null;
      this.#faults = 0;
    } catch (error) {
      const { status } = error as { status?: unknown };
      // A database that cannot be reached gives a 503, which does not count.
      if (status === 500) this.#faults++;
      if (!REFUSED.has(status) && this.#faults < MOST_FAULTS) {
        this.#options.log.debug('usage_not_sent', { error: String(error) });
        return false;
      }
      const { length } = current.calls.timestamp;
      this.#options.log.error('usage_refused', { status, items: length });
      this.#dropped += length;
      this.#batch = null;
      this.#faults = 0;
    }
    return this.#waiting.length > 0;
  }

  #isDue(): boolean {
    return (
      this.#waiting.length < FEW ||
      this.#waiting.length >= this.#options.batch_size ||
      performance.now() - this.#sent_at >= this.#options.patience_ms
    );
  }

  /** @param least the number of waiting calls that is worth another batch. */
  async #sendAll(least: number) {
    while ((await this.#sendNext()) && this.#waiting.length >= least);
  }

  #tick(least: number): Promise<void> {
    return (this.#sending ??= this.#sendAll(least).finally(() => {
      this.#sending = null;
    }));
  }
}

const markOf = ({ id, limit, active, waiting, completed, rejected, timed_out }: QueueGauge): string =>
  `${id} ${limit} ${active} ${waiting} ${completed} ${rejected} ${timed_out}`;

/** Most characters of error messages in one batch: the server accepts 16 MiB, and JSON may encode a character as six. */
const MOST_MESSAGES = 2_000_000;

function countOfBatch(items: readonly UsageItem[], batch_size: number): number {
  const most = Math.min(items.length, batch_size);
  let characters = 0;
  for (let n = 0; n < most; n++) {
    characters += items[n]?.fault?.message.length ?? 0;
    if (characters > MOST_MESSAGES) return n;
  }
  return most;
}

/** Converts calls to one list per field, with each group only once. */
function toColumns(items: readonly UsageItem[], sealing: UsageOptions['sealing']): Pick<Batch, 'groups' | 'calls' | 'notes'> {
  const grouping = createGroups();
  const group = items.map(({ of }) => grouping.indexOf(of));
  return {
    groups: grouping.groups,
    calls: {
      group,
      timestamp: items.map(({ timestamp }) => timestamp),
      duration_ms: items.map(({ duration_ms }) => duration_ms),
      wait_ms: items.map(({ wait_ms }) => wait_ms),
      rows: items.map(({ rows }) => rows),
      bytes: items.map(({ bytes }) => bytes),
      database_ms: items.map(({ database_ms }) => database_ms),
      tokens: items.map(({ tokens }) => tokens),
      ...(items.some(({ truncated }) => truncated) && { truncated: items.map(({ truncated }) => (truncated ? 1 : 0)) }),
      error: items.map(({ fault }) => fault?.code ?? null),
    },
    notes: notesOf(items, sealing),
  };
}

/** Returns notes for those calls that have some; most calls have none. */
function notesOf(items: readonly UsageItem[], sealing: UsageOptions['sealing']): CallNote[] {
  const notes: CallNote[] = [];
  for (const [at, item] of items.entries())
    if (item.fault !== null || item.trace_id !== null || item.arguments !== null || item.ignored_arguments.length > 0)
      notes.push(noteOf(at, item, sealing));
  return notes;
}

const noteOf = (
  at: number,
  { fault, trace_id, ignored_arguments, arguments: sent }: UsageItem,
  sealing: UsageOptions['sealing'],
): CallNote => ({
  at,
  ...(ignored_arguments.length > 0 && { ignored_arguments: [...ignored_arguments] }),
  ...(fault !== null && { error_message: fault.message }),
  ...(fault?.sqlstate != null && { sqlstate: fault.sqlstate }),
  ...(trace_id !== null && { trace_id }),
  ...(sent !== null && sealing !== undefined && { arguments: sealing.seal(sent.logged) }),
});

function createGroups() {
  const groups: CallGroup[] = [];
  const indexes = new Map<string, number>();
  /** The group index of the last call of each entity and session: usually the same caller calls again. */
  const latest = new Map<string | null, number>();
  const keyOf = ({ entity_id, session }: CallGroup) => (session === undefined ? entity_id : `${session} ${entity_id}`);
  const find = (group: CallGroup): number => {
    const { kind, name, entity_id, snapshot_version, canary, confirmation, unmasked } = group;
    const { client, protocol_version, token_prefix, caller, session } = group;
    const who = [client, protocol_version, token_prefix, caller, session];
    const key = JSON.stringify([kind, name, entity_id, snapshot_version, canary, confirmation, unmasked, ...who]);
    const known = indexes.get(key);
    if (known !== undefined) return known;
    indexes.set(key, groups.length);
    return groups.push(group) - 1;
  };
  return {
    groups,
    indexOf(group: CallGroup): number {
      const latest_key = keyOf(group);
      const before = latest.get(latest_key);
      if (before !== undefined && isSame(groups[before], group)) return before;
      const index = find(group);
      latest.set(latest_key, index);
      return index;
    },
  };
}

function isSame(known: CallGroup | undefined, group: CallGroup): boolean {
  if (known === group) return true;
  const { name, snapshot_version, client, protocol_version, token_prefix, canary, confirmation, caller, session, unmasked } =
    group;
  return (
    known?.name === name &&
    known.unmasked === unmasked &&
    known.canary === canary &&
    known.snapshot_version === snapshot_version &&
    known.client === client &&
    known.protocol_version === protocol_version &&
    known.token_prefix === token_prefix &&
    known.caller === caller &&
    known.session === session &&
    known.confirmation === confirmation
  );
}

export function createLines(capacity = 200): LineBuffer {
  let lines: HostLine[] = [];
  return {
    add(line) {
      if (lines.length >= capacity) lines.shift();
      lines.push(toShortLine(line));
    },
    count: () => lines.length,
    take() {
      const taken = lines;
      lines = [];
      return taken;
    },
  };
}
