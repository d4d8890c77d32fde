import { AppError } from '#core/errors.ts';
import { guardedFetch } from '#core/sources/dial.ts';
import type { ConnectionSettings, DialPolicy } from '#core/sources/source.ts';
import { positionOf } from '#core/sources/sqlite-errors.ts';
import type { SqliteValue } from '#core/sources/sqlite-values.ts';

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

type Answered =
  | { readonly type: 'ok'; readonly response: { readonly result?: unknown } }
  | { readonly type: 'error'; readonly error: HranaError };

interface Baton {
  readonly baton?: string | null;
  readonly base_url?: string | null;
}

/** One conversation with the server: what is open in it ends with `close`, or some seconds after we stop talking. */
export interface HranaStream {
  describe(text: string): Promise<HranaDescription>;
  /** Runs the steps and hands over what they give as it arrives; `line_limit` is in bytes. */
  cursor(steps: readonly HranaStep[], line_limit: number): AsyncGenerator<HranaEntry>;
  /** Commits and ends the conversation; the caller's signal no longer stops it. */
  commit(): Promise<void>;
  /** Ends the conversation, which rolls back what is open in it. Never rejects. */
  close(): Promise<void>;
}

const CLOSE_MS = 5_000;
const COMMIT_MS = 60_000;

export function openHranaStream(settings: ConnectionSettings, policy: DialPolicy, signal: AbortSignal): HranaStream {
  const origin = originOf(settings);
  let baton: string | null = null;
  let over = false;

  async function post(path: string, body: object, stop: AbortSignal): Promise<Response> {
    const headers = {
      'Content-Type': 'application/json',
      ...(settings.password === null ? {} : { Authorization: `Bearer ${settings.password}` }),
    };
    const request = { method: 'POST', headers, body: JSON.stringify({ baton, ...body }), signal: stop, tls: tlsOf(settings) };
    let response: Response;
    try {
      response = await guardedFetch(`${origin}${path}`, request, policy);
    } catch (error) {
      stop.throwIfAborted();
      throw error;
    }
    if (response.ok) return response;
    await response.body?.cancel();
    throw refusalOf(response.status);
  }

  /** A server may ask to go on at another address; the token must not follow. */
  function remember({ baton: next = null, base_url }: Baton): void {
    baton = next;
    over = next === null;
    if (base_url && new URL(base_url).hostname !== new URL(origin).hostname) {
      throw new AppError(
        'database_unreachable',
        'The server wants to be called at another address; enter that one as the host.',
        {
          reason: 'failed',
        },
      );
    }
  }

  async function pipeline(requests: readonly object[], stop: AbortSignal, text = ''): Promise<unknown[]> {
    const response = await post('/v3/pipeline', { requests }, stop);
    const body = (await response.json()) as Baton & { readonly results: readonly Answered[] };
    remember(body);
    return body.results.map((answered) => {
      if (answered.type === 'error') throw toLibsqlError(answered.error, text);
      return answered.response.result;
    });
  }

  return {
    async describe(text) {
      const [description] = await pipeline([{ type: 'describe', sql: text }], signal, text);
      return description as HranaDescription;
    },
    async *cursor(steps, line_limit) {
      const response = await post('/v3/cursor', { batch: { steps } }, signal);
      let first = true;
      for await (const line of linesOf(response, line_limit, signal)) {
        const entry = JSON.parse(line) as HranaEntry | Baton;
        if (first) remember(entry as Baton);
        else yield entry as HranaEntry;
        first = false;
      }
    },
    async commit() {
      const statement = { type: 'execute', stmt: { sql: 'COMMIT', args: [], want_rows: false } };
      await pipeline([statement, { type: 'close' }], AbortSignal.timeout(COMMIT_MS));
    },
    async close() {
      if (over || baton === null) return;
      await pipeline([{ type: 'close' }], AbortSignal.timeout(CLOSE_MS)).catch(() => undefined);
    },
  };
}

/** Lines of a body as they arrive; one that is longer than the limit ends them with the code `too_large`. */
async function* linesOf(response: Response, limit: number, signal: AbortSignal): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
        const line = text.slice(0, end);
        text = text.slice(end + 1);
        if (line !== '') yield line;
      }
      if (text.length > limit) throw new AppError('too_large', 'One row is larger than the byte limit of the connection.');
    }
    if (text.trim() !== '') yield text;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AppError) throw error;
    throw new AppError('database_unreachable', 'The connection to the server was lost while the statement ran; call again.', {
      reason: 'failed',
      cause: error,
    });
  }
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

/** What the server said of a statement, in its own words; servers with a parser of their own tell line and column. */
export function toLibsqlError({ message, code }: HranaError, statement: string): AppError {
  const cause = { message, code };
  const detail = message.replace(/^(?:SQLite error|SQLite input error|SQL string could not be parsed): /, '');
  if (code?.startsWith('SQLITE_READONLY')) {
    return new AppError('not_read_only', 'The statement writes, and this session only reads.', { cause });
  }
  if (code?.startsWith('SQLITE_BUSY') || code?.startsWith('SQLITE_LOCKED')) {
    return new AppError('unavailable', 'The database is busy with another write; call again.', { cause, retry_after: 1 });
  }
  const place = / at \((\d+), (\d+)\)$/.exec(detail);
  const position = place ? offsetOf(statement, Number(place[1]), Number(place[2])) : positionOf(detail, statement);
  return new AppError('sql_error', detail, { cause, ...(position === undefined ? {} : { position }) });
}

function offsetOf(text: string, line: number, column: number): number {
  const before = text.split('\n').slice(0, line - 1);
  return before.reduce((sum, each) => sum + each.length + 1, 0) + column - 1;
}

function originOf({ host, port, ssl_mode }: ConnectionSettings): string {
  const name = host?.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return `${ssl_mode === 'disable' ? 'http' : 'https'}://${name ?? 'localhost'}${port === null ? '' : `:${port}`}`;
}

/** The token goes with every call, so without a choice the certificate is verified like a browser does. */
function tlsOf({ ssl_mode, ssl_ca, ssl_cert, ssl_key }: ConnectionSettings) {
  return {
    rejectUnauthorized: ssl_mode !== 'require',
    ...(ssl_mode === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
    ...(ssl_ca === null ? {} : { ca: ssl_ca }),
    ...(ssl_cert === null ? {} : { cert: ssl_cert }),
    ...(ssl_key === null ? {} : { key: ssl_key }),
  };
}

function refusalOf(status: number): AppError {
  const [reason, detail] =
    status === 401 || status === 403
      ? ['auth_failed', 'The token is wrong or has ended; enter another one as the password.']
      : status === 404
        ? ['database_missing', 'There is no libSQL database with Hrana 3 at this address; check the host.']
        : ['failed', `The server answered with the HTTP status ${status}; check the host and the port.`];
  return new AppError('database_unreachable', detail, { reason });
}
