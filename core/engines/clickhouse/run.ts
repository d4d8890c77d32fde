import { AppError } from '#core/errors.ts';
import { untilAborted } from '../shared/deadline.ts';
import type { BoundType, Json, QueryResult } from '#core/lib/sql/result.ts';
import { type Ability, ABILITY_SQL, abilityOf } from './ability.ts';
import type { ClickhouseServer } from './http.ts';
import { parameterText } from './parameters.ts';
import { handOver } from '../shared/rows.ts';
import type { RowReceiver } from '../shared/source.ts';
import { sendRows, type SentStatement, takeRows } from './rows.ts';

export interface ReadStatement {
  readonly text: string;
  /** Bytes that Sluice put before the author's SQL. */
  readonly before?: number;
  readonly values: readonly Json[];
  readonly types: readonly BoundType[];
}

export interface ReadLimits {
  readonly timeout_ms: number;
  readonly max_rows: number;
  readonly max_bytes: number;
}

export interface ClickhouseReader {
  /** Sends one statement with `readonly = 1`. When the caller leaves, the statement is stopped on the server. */
  read(statement: ReadStatement, limits: ReadLimits, signal: AbortSignal): Promise<QueryResult>;
  /** Like `read`, and hands over all rows. */
  stream(statement: ReadStatement, timeout_ms: number, receiver: RowReceiver, signal: AbortSignal): Promise<void>;
  ability(signal: AbortSignal): Promise<Ability>;
  /** Waits until stopped statements have ended on the server. */
  close(): Promise<void>;
}

const FORMAT = ['default_format', 'JSONCompact'] as const;
const ABILITY_MS = 10_000;
const STOP_MS = 5_000;
/** The first attempt to stop a statement can arrive before the statement has begun, so there are several. */
const STOP_AFTER_MS = [0, 100, 500];
const OLD = 'does not take values beside the text of a statement; tools with parameters need ClickHouse 20 or newer.';
const FIXED_SETTINGS =
  'The account has readonly = 1, so extra_params cannot be set for its statements; remove them, or use an account whose profile does not set readonly.';

export function createReader(server: ClickhouseServer, extras: Readonly<Record<string, string>>): ClickhouseReader {
  const goodbyes = new Set<Promise<void>>();
  let asking: Promise<Ability> | null = null;

  async function askAbility(): Promise<Ability> {
    const sent = { text: ABILITY_SQL, before: 0 };
    const signal = AbortSignal.timeout(ABILITY_MS);
    const limits = { max_rows: 100, max_bytes: 65_536 };
    try {
      return abilityOf((await takeRows(await server.post(sent.text, [FORMAT], signal), sent, limits)).rows);
    } catch (error) {
      asking = null;
      if (!signal.aborted) throw lost(error);
      throw new AppError('database_unreachable', 'The server did not answer in time; check the host and the port.', {
        reason: 'timeout',
        cause: error,
      });
    }
  }

  const ability = (signal: AbortSignal): Promise<Ability> => untilAborted(signal, (asking ??= askAbility()));

  /** @param take reads the answer; truncated: the rest is not needed. */
  async function send<Result extends { readonly truncated: boolean }>(
    statement: ReadStatement,
    timeout_ms: number,
    signal: AbortSignal,
    take: (response: Response, sent: SentStatement) => Promise<Result>,
  ): Promise<Result> {
    const { text, before = 0, values, types } = statement;
    const able = await ability(signal);
    if (values.length > 0 && !able.parameters) throw new AppError('sql_error', `This server (ClickHouse ${able.version}) ${OLD}`);
    const query_id = crypto.randomUUID();
    const bound = values.map((value, i) => [`param_p${i + 1}`, parameterText(value, types[i] ?? 'string')] as const);
    const parameters = [FORMAT, ['query_id', query_id] as const, ...bound, ...settingsOf(able, timeout_ms)];
    let answered = false;
    try {
      const response = await server.post(text, parameters, signal);
      answered = true;
      const found = await take(response, { text, before });
      if (found.truncated) stop(query_id, 1);
      return found;
    } catch (error) {
      // A statement that the server refused needs no stopping.
      if (signal.aborted || !(error instanceof AppError)) stop(query_id, STOP_AFTER_MS.length);
      signal.throwIfAborted();
      if (error instanceof AppError && (error.code === 'not_read_only' || error.code === 'unavailable')) asking = null;
      throw answered ? lost(error) : error;
    }
  }

  const read: ClickhouseReader['read'] = (statement, limits, signal) =>
    send(statement, limits.timeout_ms, signal, (response, sent) => takeRows(response, sent, limits));

  const stream: ClickhouseReader['stream'] = (statement, timeout_ms, receiver, signal) =>
    handOver(receiver, async (to) => {
      await send(statement, timeout_ms, signal, async (response, sent) => {
        await sendRows(response, sent, to);
        return { truncated: false };
      });
    });

  /** The account's profile may be read-only; it then accepts no other setting. */
  function settingsOf(able: Ability, timeout_ms: number): (readonly [string, string])[] {
    const readonly = ['readonly', '1'] as const;
    if (able.readonly === '1') {
      if (Object.keys(extras).length > 0) throw new AppError('database_unreachable', FIXED_SETTINGS, { reason: 'failed' });
      return [readonly];
    }
    const seconds = Math.ceil(timeout_ms / 1_000) + 1;
    const most =
      able.max_execution_time > 0 && able.max_execution_time < seconds ? [] : [['max_execution_time', String(seconds)] as const];
    // Older servers apply settings in order, and none after `readonly`.
    return [...able.settings, ...Object.entries(extras), ...most, readonly];
  }

  /** On most servers the statement continues after its request was aborted. */
  function stop(query_id: string, attempts: number): void {
    const goodbye = (async () => {
      const signal = AbortSignal.timeout(STOP_MS);
      for (const wait of STOP_AFTER_MS.slice(0, attempts)) {
        if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
        const response = await server.post(`KILL QUERY WHERE query_id = '${query_id}' SYNC`, [], signal);
        if ((await response.text()).trim() !== '') return;
      }
    })().catch(() => undefined);
    const entry = goodbye.finally(() => goodbyes.delete(entry));
    goodbyes.add(entry);
  }

  return {
    read,
    stream,
    ability,
    async close() {
      await Promise.all(goodbyes);
    },
  };
}

/** Translates network errors that end an answer. */
function lost(error: unknown): AppError {
  if (error instanceof AppError) return error;
  return new AppError('database_unreachable', 'The server closed the connection while the statement ran; try again.', {
    reason: 'failed',
    cause: error,
  });
}
