import { hostname } from 'node:os';
import type { Sql } from 'postgres';
import { AppError } from '#core/errors.ts';
import { throwIfAbandoned } from '#core/lib/abandoned.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { LOCKS } from './journal.ts';
import { toAnswer } from './postgres-client.ts';
import type { Turn, TurnRequest } from './store.ts';

/** Who has a turn now. */
export interface TurnHolder {
  readonly by: string;
  /** Name of the machine. */
  readonly server: string;
  /** ISO 8601. */
  readonly since: string;
}

export const holderOf = ({ by = 'another caller' }: TurnRequest): TurnHolder => ({
  by,
  server: hostname(),
  since: new Date().toISOString(),
});

const SUBJECTS: Readonly<Record<Turn, string>> = { deploy: 'deploy', switch: 'change of the served version' };

/** `reason` of the error after waiting in vain. */
export const TURN_TAKEN = 'turn_taken';

export function turnTaken(turn: Turn, holder: TurnHolder | null): AppError {
  const subject = SUBJECTS[turn];
  const detail =
    holder === null
      ? `Another ${subject} has not finished yet. Try again later.`
      : `A ${subject} that ${holder.by} began at ${holder.since} on the server ${holder.server} has not finished yet. Try again later; if that server does not respond, restart it.`;
  return new AppError('conflict', detail, { retry_after: 5, reason: TURN_TAKEN });
}

/** The turns of one process: one piece of work at a time, urgent work first, otherwise in the order of the calls. */
export interface TurnLock {
  <T>(work: () => Promise<T>, request: TurnRequest): Promise<T>;
  /** Whether work runs or waits. */
  busy(): boolean;
}

interface Waiter {
  readonly request: TurnRequest;
  readonly begin: () => void;
}

export function createTurnLock(): TurnLock {
  const waiting: Waiter[] = [];
  let holder: TurnHolder | null = null;
  const take = (request: TurnRequest): Promise<void> | void => {
    if (holder === null) {
      holder = holderOf(request);
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (error: AppError) => {
      waiting.splice(waiting.indexOf(waiter), 1);
      end();
      reject(error);
    };
    const late = () => leave(turnTaken(request.turn, holder));
    const timer = request.wait_ms === undefined ? undefined : setTimeout(late, request.wait_ms);
    const gone = () => leave(new AppError('cancelled', 'The client disconnected.'));
    request.signal?.addEventListener('abort', gone);
    const end = () => {
      clearTimeout(timer);
      request.signal?.removeEventListener('abort', gone);
    };
    const begin = () => {
      end();
      holder = holderOf(request);
      resolve();
    };
    const waiter = { request, begin };
    waiting.push(waiter);
    return promise;
  };
  const release = (): void => {
    const urgent = waiting.findIndex(({ request }) => request.urgent === true);
    const [next] = waiting.splice(Math.max(urgent, 0), 1);
    holder = null;
    next?.begin();
  };
  const lock = async <T>(work: () => Promise<T>, request: TurnRequest): Promise<T> => {
    throwIfAbandoned(request.signal);
    await take(request);
    try {
      return await work();
    } finally {
      release();
    }
  };
  return Object.assign(lock, { busy: () => holder !== null });
}

/** How often a waiting server tries again. Waiting in the database would need an open statement. */
const TRY_MS = 50;
const URGENT_MS = 10;

/**
 * The holder of a turn shows this often that its program runs. PostgreSQL ends the turn of a program that shows nothing for
 * `SILENT_MS`, such as a paused one.
 */
const BEAT_MS = 2_000;
const SILENT_MS = 12_000;

const TURN_END_MS = 1_000;

/**
 * Runs work on one server of the database at a time. The lock ends with its transaction, even if the server is killed or paused. If
 * its connection is lost, the work still completes.
 */
export async function inTurn<T>(sql: Sql, work: () => Promise<T>, request: TurnRequest): Promise<T> {
  const begun = Promise.withResolvers<{ readonly working: Promise<T> }>();
  const key = LOCKS[request.turn];
  const late_at = performance.now() + (request.wait_ms ?? Number.POSITIVE_INFINITY);
  let lost = false;
  // The driver fails on any statement for a lost connection, even the one that ends a transaction.
  const stayAway = () => (lost ? new Promise<never>(() => undefined) : undefined);
  const turn = sql.begin(async (tx) => {
    for (;;) {
      const [row] = await tx`
        select pg_try_advisory_xact_lock(${key}) as mine,
          set_config('idle_in_transaction_session_timeout', ${String(SILENT_MS)}, true)`;
      if (row?.['mine'] === true) break;
      throwIfAbandoned(request.signal);
      if (performance.now() > late_at) throw turnTaken(request.turn, await readHolder(sql, request.turn));
      await Bun.sleep(request.urgent === true ? URGENT_MS : TRY_MS);
      await stayAway();
    }
    await saveHolder(sql, request);
    const working = work();
    begun.resolve({ working });
    const beats = setInterval(() => {
      if (!lost) tx`select 1`.catch(() => undefined);
    }, BEAT_MS);
    await working.catch(() => undefined);
    clearInterval(beats);
    await stayAway();
  });
  const ended = turn.catch((error: unknown) => {
    lost = true;
    begun.reject(toAnswer(error));
  });
  const { working } = await begun.promise;
  await working.catch(() => undefined);
  // The lock is free for the next server by then. A database that is down must not delay the caller.
  await withTimeout(ended, TURN_END_MS, () => undefined);
  return working;
}

const metaKey = (turn: Turn): string => `turn/${turn}`;

/** Stores who has the turn, for other servers. The turn does not depend on it. */
async function saveHolder(sql: Sql, request: TurnRequest): Promise<void> {
  const value = JSON.stringify(holderOf(request));
  const saved = sql`insert into meta (key, value) values (${metaKey(request.turn)}, ${value})
    on conflict (key) do update set value = excluded.value`;
  await withTimeout(
    saved.catch(() => undefined),
    TURN_END_MS,
    () => undefined,
  );
}

async function readHolder(sql: Sql, turn: Turn): Promise<TurnHolder | null> {
  const [row] = await sql`select value from meta where key = ${metaKey(turn)}`.catch(() => []);
  return row === undefined ? null : (JSON.parse(String(row['value'])) as TurnHolder);
}
