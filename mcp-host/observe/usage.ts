import type {
  ListRead,
  CallGroup,
  CallNote,
  Calls,
  HostLine,
  QueueGauge,
  Refusal,
  RunningCall,
} from '#core/contract/observe/usage-batch.ts';
import { type UsageItem, withoutValues } from '#mcp-host/requests/usage-item.ts';
import type { TokenUse } from '#mcp-host/auth/bearer.ts';
import type { LoggedArguments } from '#core/contract/observe/logged-arguments.ts';
import type { Sealing } from '#core/lib/sealing.ts';
import type { Log } from '#core/process/log.ts';
import type { LineBuffer } from './lines.ts';

/** Calls, log lines and queues on their way to the server: kept in memory, sent in batches, never waited for by a call. */
export interface Usage {
  add(item: UsageItem): void;
  addList(list: ListRead): void;
  /** Sends all there is, as long as the server takes it; for the end of the program. */
  flush(): Promise<void>;
  /** Items dropped because the server was away for too long, or refused them. */
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
  /** Absent: as they were. */
  readonly running?: readonly RunningCall[];
  readonly refusals?: readonly Refusal[];
  readonly refused?: Readonly<Record<string, number>>;
}

export interface UsageOptions {
  /** Rejects when the server did not take the batch; it is sent again with the same `seq`, unless the error has a status that says never. */
  readonly send: (batch: Batch) => Promise<void>;
  readonly log: Log;
  readonly lines: LineBuffer;
  /** Encrypts what calls sent; without it, none of that leaves the host. */
  readonly sealing?: Pick<Sealing<LoggedArguments>, 'seal'>;
  readonly queues: () => QueueGauge[];
  /** Calls that have run for a while. */
  readonly running?: () => RunningCall[];
  /** Uses of access tokens to report now; each is handed over once. */
  readonly takeUses?: () => TokenUse[];
  readonly interval_ms?: number;
  /** A busy host waits so long for a batch to become full: a large one costs the server less than many small ones. */
  readonly patience_ms?: number;
  /** Requests that never became a call, since the last time. */
  readonly takeRefusals?: () => Pick<Batch, 'refusals' | 'refused'> | null;
  /** Queues are reported at least so often. */
  readonly heartbeat_ms?: number;
  readonly capacity?: number;
  /** Calls in one batch: what storing a batch costs beside its calls is about what 600 of them cost. */
  readonly batch_size?: number;
}

/** Arguments that wait, in bytes: a batch with all of them is far below what the server takes. */
const MOST_HELD = 1024 * 1024;

/** So few calls go at once: somebody may be looking. */
const FEW = 100;

/** The server will refuse the same batch again. */
const REFUSED: ReadonlySet<unknown> = new Set([400, 413, 415, 422]);

/** A server fails to store a batch so often, over half a minute at least, before it is given up: the ones behind it may be stored. */
const MOST_FAULTS = 100;

export function createUsage({
  send,
  log,
  lines,
  sealing,
  queues,
  running = () => [],
  takeUses = () => [],
  takeRefusals = () => null,
  interval_ms = 300,
  patience_ms = 1_000,
  heartbeat_ms = 5_000,
  capacity = 20_000,
  batch_size = 5_000,
}: UsageOptions): Usage {
  let waiting: UsageItem[] = [];
  /** Bytes of the arguments in it. */
  let held = 0;
  const hold = (rest: UsageItem[]) => {
    waiting = rest;
    if (held > 0) held = rest.reduce((sum, item) => sum + (item.arguments?.bytes ?? 0), 0);
  };
  let lists: ListRead[] = [];
  let batch: Batch | null = null;
  let seq = 0;
  let dropped = 0;
  let reported = '';
  let reported_at = Number.NEGATIVE_INFINITY;
  let sending: Promise<void> | null = null;
  let sent_at = Number.NEGATIVE_INFINITY;
  /** How often the server failed to store the batch that waits. */
  let faults = 0;

  /** The queues when they changed, or when it is time to say that they are still the same. */
  const report = (): Required<Pick<Batch, 'queues' | 'running'>> | null => {
    const gauges = queues();
    const calls = running();
    const mark = `${gauges.map(markOf).join()} ${calls.map(({ id, state }) => `${id} ${state}`).join()}`;
    if (mark === reported && performance.now() - reported_at < heartbeat_ms) return null;
    reported = mark;
    reported_at = performance.now();
    return { queues: gauges, running: calls };
  };
  const nextBatch = (): Batch | null => {
    const gauges = report();
    const token_uses = takeUses();
    const refused = takeRefusals();
    const is_idle = waiting.length === 0 && lists.length === 0 && lines.count() === 0 && gauges === null;
    if (is_idle && token_uses.length === 0 && refused === null) return null;
    sent_at = performance.now();
    const items = waiting.slice(0, countOfBatch(waiting, batch_size));
    hold(waiting.slice(items.length));
    const read = lists.length === 0 ? {} : { lists };
    lists = [];
    const uses = token_uses.length === 0 ? {} : { token_uses };
    return { seq: ++seq, ...toColumns(items, sealing), lines: lines.take(), ...gauges, ...uses, ...refused, ...read };
  };
  /** @returns whether there is more that the server would take now. */
  const sendNext = async (): Promise<boolean> => {
    const current = (batch ??= nextBatch());
    if (current === null) return false;
    try {
      await send(current);
      batch = null;
      faults = 0;
    } catch (error) {
      const { status } = error as { status?: unknown };
      // A database that is away is a 503.
      if (status === 500) faults++;
      if (!REFUSED.has(status) && faults < MOST_FAULTS) {
        log.debug('usage_not_sent', { error: String(error) });
        return false;
      }
      const { length } = current.calls.timestamp;
      log.error('usage_refused', { status, items: length });
      dropped += length;
      batch = null;
      faults = 0;
    }
    return waiting.length > 0;
  };
  const isDue = (): boolean => waiting.length < FEW || waiting.length >= batch_size || performance.now() - sent_at >= patience_ms;
  /** @param least calls that are worth another batch. */
  const sendAll = async (least: number) => {
    while ((await sendNext()) && waiting.length >= least);
  };
  const tick = (least: number): Promise<void> =>
    (sending ??= sendAll(least).finally(() => {
      sending = null;
    }));
  const timer = setInterval(() => {
    if (isDue()) void tick(batch_size);
  }, interval_ms);
  timer.unref();

  return {
    add(item) {
      if (waiting.length >= capacity) {
        const surplus = waiting.length - capacity + Math.ceil(capacity / 10);
        hold(waiting.slice(surplus));
        dropped += surplus;
      }
      const bytes = item.arguments?.bytes ?? 0;
      const fits = held + bytes <= MOST_HELD;
      if (fits) held += bytes;
      waiting.push(fits || item.arguments === null ? item : { ...item, arguments: withoutValues(item.arguments) });
    },
    addList(list) {
      // Of what is read much more often than anything is called, a part says enough.
      if (lists.length < batch_size) lists.push(list);
    },
    async flush() {
      await sending;
      await tick(1);
    },
    dropped: () => dropped,
    close: () => clearInterval(timer),
  };
}

const markOf = ({ id, limit, active, waiting, completed, rejected, timed_out }: QueueGauge): string =>
  `${id} ${limit} ${active} ${waiting} ${completed} ${rejected} ${timed_out}`;

/** Characters of what failed calls answered that one batch carries: the server takes 16 MiB, and JSON may write a character as six. */
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

/** A list for each field, and what calls have in common once. */
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

/** Most calls have nothing to say: no list is made for each of them. */
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
  /** Of each entity and session, that of the call before: mostly the same caller calls again. */
  const latest = new Map<string | null, number>();
  const placeOf = ({ entity_id, session }: CallGroup) => (session === undefined ? entity_id : `${session} ${entity_id}`);
  const find = (group: CallGroup): number => {
    const { kind, name, entity_id, snapshot_version, client, token_prefix, canary, confirmation, caller, session } = group;
    const who = [client, token_prefix, caller, session];
    const key = JSON.stringify([kind, name, entity_id, snapshot_version, canary, confirmation, ...who]);
    const known = indexes.get(key);
    if (known !== undefined) return known;
    indexes.set(key, groups.length);
    return groups.push(group) - 1;
  };
  return {
    groups,
    indexOf(group: CallGroup): number {
      const place = placeOf(group);
      const before = latest.get(place);
      if (before !== undefined && isSame(groups[before], group)) return before;
      const index = find(group);
      latest.set(place, index);
      return index;
    },
  };
}

const isSame = (
  known: CallGroup | undefined,
  { name, snapshot_version, client, token_prefix, canary, confirmation, caller, session }: CallGroup,
): boolean =>
  known?.name === name &&
  known.canary === canary &&
  known.snapshot_version === snapshot_version &&
  known.client === client &&
  known.token_prefix === token_prefix &&
  known.caller === caller &&
  known.session === session &&
  known.confirmation === confirmation;
