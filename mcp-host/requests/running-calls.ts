import type { Session } from './sessions.ts';
import type { RpcId } from '#mcp-host/protocol/messages.ts';
import type { RedisLimits } from '#core/cluster/redis-limits.ts';
import { createMailboxes } from './mailbox.ts';
import { Stop } from '#core/engines/shared/stop.ts';
import { type RequestRecord, clientOf } from './request-record.ts';
import type { RunningCall } from '#core/contract/observe/usage-batch.ts';
import { AppError } from '#core/errors.ts';
import { setTimeout as sleep } from 'node:timers/promises';

type Running = Pick<Session, 'id'>;

/** Cancellations that arrive at another host than the one that runs the call, because any host continues a session. */
export interface CancelsElsewhere {
  /** Waits for the cancellation of a call that runs here. @returns a function that stops waiting. */
  expect(session: Running, request: RpcId, cancel: () => void): () => void;
  /** Forwards a cancellation, if another host runs the call. */
  hand(session: Running, request: RpcId): void;
}

const LOOK_MS = 500;

/** After this time the mailbox of a host that failed expires. */
const LASTS_MS = 10 * 60_000;

/** Thrown when the caller gave up: there is no answer. */
export class CallerGone extends Error {
  override readonly name = 'CallerGone';
}

/** The request's abort signal is read only after a call has run for this time, because it costs more than a microsecond. */
const WATCH_AFTER_MS = 25;

/** Ends a call early. Few calls are stopped or outlast their caller, so the signals are set up late. */
class Deadline extends Stop {
  readonly record: RequestRecord;
  /** Empty until the call is reported. */
  id = '';
  /** Called when the caller leaves; null while the caller is not watched. */
  #onLeave: (() => void) | null = null;
  #forget: (() => void) | null = null;

  constructor(record: RequestRecord) {
    super();
    this.record = record;
  }

  /** Ends the call when its caller leaves, and suspends the idle timeout of the caller's connection. */
  watchCaller(): void {
    if (this.#onLeave !== null) return;
    this.#onLeave = () => this.abort();
    const { request, peer } = this.record.exchange;
    peer.hold();
    if (request.signal.aborted) this.abort();
    else request.signal.addEventListener('abort', this.#onLeave, { once: true });
  }

  /** Accepts cancellations that arrive at another host. */
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

/** The running calls, oldest first. */
export interface RunningCalls {
  readonly all: ReadonlySet<Deadline>;
  /** Requests whose credentials are being checked or whose bodies are being read; a removed one is refused. */
  readonly arriving: Set<Request>;
  open(record: RequestRecord): Deadline;
  close(deadline: Deadline): void;
  /** The calls that have run for a while, for the server. */
  report(): RunningCall[];
  /** Cancels a reported call for an administrator; its caller gets an error. */
  cancel(id: string): void;
}

/** Calls are reported after this time; shorter ones would end before a person could see them. */
const REPORTED_AFTER_MS = 250;

const MOST_REPORTED = 200;

/** Marks a call that an administrator cancelled: its caller is still there and gets an answer. */
const BY_ADMINISTRATOR = 'administrator';

export const isAnswered = (reason: unknown): boolean => reason instanceof AppError && reason.reason === BY_ADMINISTRATOR;

/** Whether the call was ended because the host stops: another host, or this one after its restart, may continue it. */
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
  /** One timer checks all running calls, while there are any. */
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

/** The call as it is reported; null: not a call of a tool or resource, but for example a list. */
function shownOf({ id, record }: Deadline, since: number): RunningCall | null {
  const { query, connection, message, exchange } = record;
  if (query === null || connection === null) return null;
  const { token_prefix, ids } = exchange.caller;
  const call = { id, kind: message.method === 'resources/read' ? 'resource' : 'tool', name: query.name } as const;
  const who = { client: clientOf(record) || null, token_prefix, ...(ids !== undefined && { caller: ids }) };
  return { ...call, connection_id: connection.id, ...who, since: Math.round(since), state: stateOf(record) };
}

/** The state of a call. A call that asks a person runs its statement several times, so the times may belong to an earlier run. */
function stateOf({ waits_for_person, query_from, query_to }: RequestRecord): RunningCall['state'] {
  if (waits_for_person) return 'asking';
  if (query_from === 0) return 'waiting';
  return query_to < query_from ? 'running' : 'finishing';
}

/** Waits until all running and arriving calls have ended; after `grace_ms`, cancels the others. */
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

/** @param redis null: nothing is forwarded. */
export function createCancelsElsewhere(redis: RedisLimits | null, keys: readonly string[]): CancelsElsewhere {
  const mailboxes = createMailboxes(redis, { look_ms: LOOK_MS, lasts_ms: LASTS_MS, keys });
  const mailboxOf = ({ id }: Running, request: RpcId) => `cancel:${id} ${JSON.stringify(request)}`;
  return {
    expect: (session, request, cancel) => mailboxes.expect(mailboxOf(session, request), cancel),
    hand: (session, request) => mailboxes.hand(mailboxOf(session, request), 'cancelled'),
  };
}
