import { Stop } from '#core/engines/shared/stop.ts';
import type { CancelsElsewhere } from './cancels-elsewhere.ts';
import { type RequestRecord, clientOf } from './request-record.ts';
import type { RunningCall } from '#core/contract/observe/usage-batch.ts';
import { AppError } from '#core/errors.ts';
import { setTimeout as sleep } from 'node:timers/promises';

/** Thrown when the caller itself gave up: nothing is answered. */
export class CallerGone extends Error {
  override readonly name = 'CallerGone';
}

/** Only a call that has run for so long asks to learn when its caller leaves: the signal of a request costs more than a microsecond. */
const WATCH_AFTER_MS = 25;

/** Ends a call early. Hardly any call is stopped, or takes so long that its caller might leave. */
export class Deadline extends Stop {
  readonly record: RequestRecord;
  /** Empty until it is reported. */
  id = '';
  /** Called when its caller leaves; null while that is not watched. */
  #onLeave: (() => void) | null = null;
  #forget: (() => void) | null = null;

  constructor(record: RequestRecord) {
    super();
    this.record = record;
  }

  /** From now on the call ends when its caller leaves, who may wait for it in silence. */
  watchCaller(): void {
    if (this.#onLeave !== null) return;
    this.#onLeave = () => this.abort();
    const { request, peer } = this.record.exchange;
    peer.hold();
    if (request.signal.aborted) this.abort();
    else request.signal.addEventListener('abort', this.#onLeave, { once: true });
  }

  /** From now on a cancellation counts that another host of the session was sent. */
  watchElsewhere(elsewhere: CancelsElsewhere): void {
    const { session, message } = this.record;
    if (this.#forget !== null || session === null || message.id === undefined) return;
    this.#forget = elsewhere.expect(session, message.id, () => this.abort());
  }

  close(): void {
    this.#forget?.();
    if (this.#onLeave === null) return;
    const { request, peer } = this.record.exchange;
    request.signal.removeEventListener('abort', this.#onLeave);
    peer.release();
  }
}

/** The calls that run now, in the order of their beginning. */
export interface RunningCalls {
  readonly all: ReadonlySet<Deadline>;
  /** Requests whose credentials are being checked or whose bodies are being read; one that is taken away is refused. */
  readonly arriving: Set<Request>;
  open(record: RequestRecord): Deadline;
  close(deadline: Deadline): void;
  /** Those that have run for a while. */
  report(): RunningCall[];
  /** Ends one of them for an administrator; its caller is told. */
  cancel(id: string): void;
}

/** A call is reported once it has run for so long: shorter ones end before anybody could look. */
const REPORTED_AFTER_MS = 250;

const MOST_REPORTED = 200;

/** Marks the reason of a call that an administrator ended: unlike a caller that left, its caller is answered. */
const BY_ADMINISTRATOR = 'administrator';

export const isAnswered = (reason: unknown): boolean => reason instanceof AppError && reason.reason === BY_ADMINISTRATOR;

/** The host stops: another one, or the next start, may go on with what its callers wait for. */
export const isStopping = (reason: unknown): boolean => reason instanceof AppError && reason.code === 'unavailable';

/** @param prefix names this run of the host in the ids of its calls. */
export function createRunningCalls({
  prefix,
  now,
  elsewhere,
}: {
  readonly prefix: string;
  readonly now: () => number;
  readonly elsewhere: CancelsElsewhere;
}): RunningCalls {
  const all = new Set<Deadline>();
  const reported = new Map<string, Deadline>();
  let numbered = 0;
  /** One timer for all: it looks through the calls that run, as long as any does. */
  let is_waiting = false;
  const wait = () => {
    is_waiting = true;
    setTimeout(watchLong, WATCH_AFTER_MS).unref();
  };
  const watchLong = () => {
    is_waiting = false;
    const at = performance.now();
    for (const call of all) {
      if (call.record.started > at - WATCH_AFTER_MS) break;
      call.watchCaller();
      if (call.record.started <= at - REPORTED_AFTER_MS) call.watchElsewhere(elsewhere);
    }
    if (all.size > 0) wait();
  };
  return {
    all,
    arriving: new Set(),
    open(record) {
      const deadline = new Deadline(record);
      all.add(deadline);
      if (!is_waiting) wait();
      return deadline;
    },
    close(deadline) {
      deadline.close();
      all.delete(deadline);
      if (deadline.id !== '') reported.delete(deadline.id);
    },
    report() {
      const at = performance.now();
      const calls: RunningCall[] = [];
      for (const call of all) {
        if (call.record.started > at - REPORTED_AFTER_MS || calls.length >= MOST_REPORTED) break;
        if (call.id === '') call.id = `${prefix}.${++numbered}`;
        const shown = shownOf(call, now() - (at - call.record.started));
        if (shown === null) continue;
        reported.set(call.id, call);
        calls.push(shown);
      }
      return calls;
    },
    cancel(id) {
      const detail = 'An administrator cancelled this call.';
      reported.get(id)?.abort(new AppError('cancelled', detail, { reason: BY_ADMINISTRATOR }));
    },
  };
}

/** Null: it is no call of a tool or resource, such as a list. */
function shownOf({ id, record }: Deadline, since: number): RunningCall | null {
  const { query, connection, message, exchange } = record;
  if (query === null || connection === null) return null;
  const { token_prefix, ids } = exchange.caller;
  const own = { id, kind: message.method === 'resources/read' ? 'resource' : 'tool', name: query.name } as const;
  const who = { client: clientOf(record) || null, token_prefix, ...(ids !== undefined && { caller: ids }) };
  return { ...own, connection_id: connection.id, ...who, since: Math.round(since), state: stateOf(record) };
}

/** A call that asks a person runs its statement several times. */
function stateOf({ waits_for_person, query_from, query_to }: RequestRecord): RunningCall['state'] {
  if (waits_for_person) return 'asking';
  if (query_from === 0) return 'waiting';
  return query_to < query_from ? 'running' : 'finishing';
}

/** Waits until the calls that run now have ended, and those that are still arriving; the rest is cancelled after the grace. */
export async function drain(
  { all, arriving }: Pick<RunningCalls, 'all' | 'arriving'>,
  grace_ms: number,
  reason: string,
): Promise<void> {
  const mine = new Set(all);
  const late = new Set(arriving);
  const deadline = performance.now() + grace_ms;
  while (mine.size + late.size > 0 && performance.now() < deadline) {
    await sleep(10);
    for (const call of mine) if (!all.has(call)) mine.delete(call);
    if (late.size === 0) continue;
    for (const call of all) if (late.has(call.record.exchange.request)) mine.add(call);
    for (const request of late) if (!arriving.has(request)) late.delete(request);
  }
  for (const call of mine) call.abort(new AppError('unavailable', reason));
  for (const request of late) arriving.delete(request);
}
