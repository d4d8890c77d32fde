import { AppError, commitError } from '#core/errors.ts';
import { boundedLines, boundedText, messageStart } from '../shared/bounded-text.ts';
import type { LibsqlServer } from './http.ts';
import { positionOf } from '../sqlite/errors.ts';
import type { SqliteValue } from '../sqlite/values.ts';

/** A value of Hrana 3, the protocol of libSQL servers (github.com/tursodatabase/libsql, docs/HRANA_3_SPEC.md). */
type HranaValue =
  | { readonly type: 'null' }
  | { readonly type: 'integer'; readonly value: string }
  | { readonly type: 'float'; readonly value: number | null }
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'blob'; readonly base64: string };

export interface HranaColumn {
  readonly name: string | null;
  readonly decltype?: string | null;
}

export interface HranaError {
  readonly message: string;
  readonly code?: string | null;
}

export interface HranaDescription {
  readonly cols: readonly HranaColumn[];
  readonly is_readonly: boolean;
}

type Condition = { readonly type: 'ok'; readonly step: number };

export interface HranaStep {
  readonly stmt: { readonly sql: string; readonly args: readonly HranaValue[]; readonly want_rows: boolean };
  readonly condition?: Condition;
}

export type HranaEntry =
  | { readonly type: 'step_begin'; readonly step: number; readonly cols: readonly HranaColumn[] }
  | { readonly type: 'row'; readonly row: readonly HranaValue[] }
  | { readonly type: 'step_end'; readonly affected_row_count: number }
  | { readonly type: 'step_error'; readonly step: number; readonly error: HranaError }
  | { readonly type: 'error'; readonly error: HranaError };

interface HranaRequest {
  readonly type: 'describe' | 'execute' | 'close';
  readonly sql?: string;
  readonly stmt?: HranaStep['stmt'];
}

type Answered =
  | { readonly type: 'ok'; readonly response: { readonly result?: unknown } }
  | { readonly type: 'error'; readonly error: HranaError };

interface Baton {
  readonly baton?: string | null;
  readonly base_url?: string | null;
}

/** One stream of the protocol. It ends with `close`, or some seconds after the last request. */
export interface HranaStream {
  describe(text: string): Promise<HranaDescription>;
  /** Runs the steps and yields their entries as they arrive. No line may have more than `line_limit` characters. */
  cursor(steps: readonly HranaStep[], line_limit: number): AsyncGenerator<HranaEntry>;
  /** Rows that the stream has changed so far, including cascades and triggers, and those of its last statement. */
  changes(): Promise<{ readonly all: number; readonly last: number }>;
  /** Commits and closes the stream. The caller's signal no longer stops it. */
  commit(): Promise<void>;
  /** Closes the stream, which rolls back what is open in it. Never rejects. */
  close(): Promise<void>;
}

const CLOSE_MS = 5_000;
const COMMIT_MS = 60_000;
/** Maximum characters of answers to `describe`, `COMMIT` and `close`: enough for the names of a few thousand columns. */
const ANSWER_CHARACTERS = 4 * 1024 * 1024;

export function openHranaStream(server: LibsqlServer, signal: AbortSignal): HranaStream {
  let baton: string | null = null;
  let over = false;

  /** A server may redirect the stream to another address; the token must not follow. */
  function remember({ baton: next = null, base_url }: Baton): void {
    baton = next;
    over = next === null;
    if (!base_url || new URL(base_url).hostname === server.hostname) return;
    throw new AppError('database_unreachable', 'The server redirects to another address; enter that one as the host.', {
      reason: 'failed',
    });
  }

  async function pipeline(requests: readonly HranaRequest[], stop: AbortSignal, text = ''): Promise<unknown[]> {
    const response = await server.post('/v3/pipeline', { baton, requests }, stop);
    const body = JSON.parse(await boundedText(response, ANSWER_CHARACTERS)) as Baton & { readonly results: readonly Answered[] };
    remember(body);
    return body.results.map((answered, n) => {
      if (answered.type !== 'error') return answered.response.result;
      // Requests before the close have succeeded, even when the close fails.
      if (requests[n]?.type === 'close') return undefined;
      throw toLibsqlError(answered.error, text);
    });
  }

  return {
    async describe(text) {
      const [description] = await pipeline([{ type: 'describe', sql: text }], signal, text);
      const { cols, is_readonly } = description as HranaDescription;
      if (!Array.isArray(cols) || typeof is_readonly !== 'boolean') throw new TypeError('This is not a description.');
      return { cols, is_readonly };
    },
    async *cursor(steps, line_limit) {
      const response = await server.post('/v3/cursor', { baton, batch: { steps } }, signal);
      let first = true;
      for await (const line of boundedLines(response, line_limit)) {
        const entry = JSON.parse(line) as HranaEntry | Baton;
        if (first) remember(entry as Baton);
        else yield entry as HranaEntry;
        first = false;
      }
    },
    async changes() {
      const sql = 'SELECT total_changes(), changes()';
      const [result] = await pipeline([{ type: 'execute', stmt: { sql, args: [], want_rows: true } }], signal);
      const { rows } = result as { readonly rows: readonly (readonly HranaValue[])[] };
      const [all, last] = (rows[0] ?? []).map((value) => Number(fromHranaValue(value)));
      if (all === undefined || last === undefined || Number.isNaN(all + last))
        throw new TypeError('This is no count of changes.');
      return { all, last };
    },
    async commit() {
      const statement: HranaRequest = { type: 'execute', stmt: { sql: 'COMMIT', args: [], want_rows: false } };
      try {
        const results = await pipeline([statement, { type: 'close' }], AbortSignal.timeout(COMMIT_MS));
        if (results.length === 0) throw new TypeError('This is no answer to a commit.');
      } catch (error) {
        throw commitError(error);
      }
    },
    async close() {
      if (over || baton === null) return;
      await pipeline([{ type: 'close' }], AbortSignal.timeout(CLOSE_MS)).catch(() => undefined);
    },
  };
}

export function toHranaValue(value: SqliteValue): HranaValue {
  if (value === null) return { type: 'null' };
  if (typeof value === 'bigint') return { type: 'integer', value: String(value) };
  if (typeof value === 'number') return { type: 'float', value };
  if (typeof value === 'string') return { type: 'text', value };
  return { type: 'blob', base64: Buffer.from(value).toString('base64') };
}

export function fromHranaValue(value: HranaValue): SqliteValue {
  if (value.type === 'null') return null;
  if (value.type === 'integer') return BigInt(value.value);
  if (value.type === 'blob') return Buffer.from(value.base64, 'base64');
  return value.value;
}

/** Translates an error of a statement. Servers with a built-in parser report line and column. */
export function toLibsqlError({ message, code }: HranaError, statement: string): AppError {
  const cause = { message, code };
  const sentence = message.replace(/^(?:SQLite error|SQL input error|SQL string could not be parsed): /, '');
  const offset = / \(at offset (\d+)\)$/.exec(sentence);
  const line_column = / at \((\d+), (\d+)\)$/.exec(sentence);
  const detail = messageStart(offset ? sentence.slice(0, offset.index) : sentence);
  if (code?.startsWith('SQLITE_READONLY')) {
    return new AppError('not_read_only', 'The statement writes, but this session is read-only.', { cause });
  }
  if (code?.startsWith('SQLITE_BUSY') || code?.startsWith('SQLITE_LOCKED')) {
    return new AppError('unavailable', 'The database is busy with another write; try again.', { cause, retry_after: 1 });
  }
  const position = offset
    ? Buffer.from(statement).toString('utf8', 0, Number(offset[1])).length
    : line_column
      ? offsetOf(statement, Number(line_column[1]), Number(line_column[2]))
      : positionOf(detail, statement);
  return new AppError('sql_error', detail, { cause, ...(position === undefined ? {} : { position }) });
}

function offsetOf(text: string, line: number, column: number): number {
  const before = text.split('\n').slice(0, line - 1);
  return before.reduce((sum, each) => sum + each.length + 1, 0) + column - 1;
}
