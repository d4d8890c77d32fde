import { Database } from 'bun:sqlite';
import { DatabaseSync, type StatementSync } from 'node:sqlite';

/**
 * A stand-in for a libSQL server: the HTTP side of Hrana 3 as its specification describes it, on top of SQLite. It is no libSQL
 * and shares nothing with one; it proves that we keep to the protocol, not that a server does.
 */
export interface HranaServer {
  readonly port: number;
  /** Conversations that are open, and cursors that are being read. */
  open(): { streams: number; cursors: number };
  stop(): Promise<void>;
}

type Value = { type: string; value?: string | number | null; base64?: string };
type Condition = { type: 'ok'; step: number };
interface Step {
  stmt: { sql: string; args?: Value[] };
  condition?: Condition;
}
type Ask = { type: string; sql?: string; stmt?: Step['stmt'] };

/** Statements that the server refuses by its own rules. */
const REFUSED = /^\s*(?:attach|detach|vacuum)\b/i;
const EXPIRES_MS = 10_000;

export function startHranaServer(
  file: string,
  options: { token?: string; refuse_pragma?: boolean; tls?: Bun.TLSOptions } = {},
): HranaServer {
  const streams = new Map<string, { database: DatabaseSync; timer: Timer }>();
  let cursors = 0;

  function take(baton: string | null | undefined): DatabaseSync {
    const known = baton ? streams.get(baton) : undefined;
    if (baton && !known) throw new Error('The stream has expired');
    if (!known) return new DatabaseSync(file, { timeout: 200 });
    clearTimeout(known.timer);
    streams.delete(baton!);
    return known.database;
  }

  function keep(database: DatabaseSync): string {
    const baton = crypto.randomUUID();
    const expire = () => {
      streams.delete(baton);
      database.close();
    };
    streams.set(baton, { database, timer: setTimeout(expire, EXPIRES_MS) });
    return baton;
  }

  function prepare(database: DatabaseSync, sql: string): StatementSync {
    if (REFUSED.test(sql)) throw Object.assign(new Error('SQL not allowed statement'), { code: 'SQLITE_AUTH' });
    if (options.refuse_pragma && /^\s*pragma/i.test(sql)) throw new Error('SQL not allowed statement: PRAGMA');
    const statement = database.prepare(sql);
    if (sql.slice(statement.sourceSQL.length).replace(/--.*|[\s;]/g, '') !== '') {
      throw new Error('SQL string contains more than one statement');
    }
    statement.setReturnArrays(true);
    statement.setReadBigInts(true);
    return statement;
  }

  function describe(database: DatabaseSync, sql: string): object {
    const columns = prepare(database, sql).columns();
    const looking = new Database(file);
    const is_readonly = isReadonly(looking, sql);
    looking.close();
    return {
      params: [],
      cols: columns.map(({ name, type }) => ({ name, decltype: type })),
      is_explain: false,
      is_readonly,
    };
  }

  function pipeline(database: DatabaseSync, requests: Ask[]): { results: object[]; closed: boolean } {
    let closed = false;
    const results = requests.map((request) => {
      try {
        if (request.type === 'close') closed = true;
        if (request.type === 'describe')
          return { type: 'ok', response: { type: 'describe', result: describe(database, request.sql!) } };
        if (request.type === 'execute') prepare(database, request.stmt!.sql).run();
        return { type: 'ok', response: { type: request.type } };
      } catch (error) {
        return { type: 'error', error: toError(error) };
      }
    });
    return { results, closed };
  }

  async function* cursor(database: DatabaseSync, steps: Step[]): AsyncGenerator<string> {
    const ok = new Set<number>();
    cursors++;
    try {
      yield line({ baton: keep(database), base_url: null });
      for (const [place, step] of steps.entries()) {
        if (step.condition && !ok.has(step.condition.step)) continue;
        try {
          const statement = prepare(database, step.stmt.sql);
          const columns = statement.columns();
          yield line({ type: 'step_begin', step: place, cols: columns.map(({ name, type }) => ({ name, decltype: type })) });
          const values = (step.stmt.args ?? []).map(fromValue);
          if (columns.length === 0) {
            yield line({
              type: 'step_end',
              affected_row_count: Number(statement.run(...values).changes),
              last_insert_rowid: null,
            });
          } else {
            let text = '';
            for (const row of statement.iterate(...values) as unknown as Iterable<unknown[]>) {
              text += line({ type: 'row', row: row.map(toValue) });
              if (text.length < 16_384) continue;
              yield text;
              text = '';
              await Bun.sleep(0);
            }
            yield text + line({ type: 'step_end', affected_row_count: 0, last_insert_rowid: null });
          }
          ok.add(place);
        } catch (error) {
          yield line({ type: 'step_error', step: place, error: toError(error) });
        }
      }
    } finally {
      cursors--;
    }
  }

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    ...(options.tls ? { tls: options.tls } : {}),
    async fetch(request) {
      if (options.token !== undefined && request.headers.get('authorization') !== `Bearer ${options.token}`) {
        return new Response('', { status: 401 });
      }
      const path = new URL(request.url).pathname;
      const body = (await request.json()) as { baton?: string; requests?: Ask[]; batch?: { steps: Step[] } };
      const database = take(body.baton);
      if (path === '/v3/cursor') return new Response(stream(cursor(database, body.batch!.steps)));
      if (path !== '/v3/pipeline') return new Response('', { status: 404 });
      const { results, closed } = pipeline(database, body.requests!);
      if (closed) database.close();
      return Response.json({ baton: closed ? null : keep(database), base_url: null, results });
    },
  });

  return {
    port: server.port!,
    open: () => ({ streams: streams.size, cursors }),
    async stop() {
      await server.stop(true);
      for (const { database, timer } of streams.values()) {
        clearTimeout(timer);
        database.close();
      }
    },
  };
}

function stream(lines: AsyncGenerator<string>): ReadableStream<string> {
  return new ReadableStream<string>({
    async pull(controller) {
      const next = await lines.next();
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await lines.return(undefined);
    },
  });
}

/** What sqlite3_stmt_readonly says, which Bun tells in a property that its types leave out. */
function isReadonly(database: Database, sql: string): boolean {
  const statement = database.prepare(sql);
  const { readonly } = statement as unknown as { readonly: boolean };
  statement.finalize();
  return readonly;
}

function line(entry: object): string {
  return `${JSON.stringify(entry)}\n`;
}

function toError(error: unknown): { message: string; code: string } {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 1;
  const names: Record<number, string> = { 5: 'SQLITE_BUSY', 8: 'SQLITE_READONLY' };
  return {
    message: `SQLite error: ${error instanceof Error ? error.message : String(error)}`,
    code: names[code] ?? 'SQLITE_ERROR',
  };
}

function fromValue({ type, value, base64 }: Value): null | bigint | number | string | Uint8Array {
  if (type === 'integer') return BigInt(String(value));
  if (type === 'blob') return Buffer.from(base64 ?? '', 'base64');
  return type === 'null' ? null : (value ?? null);
}

function toValue(value: unknown): Value {
  if (value === null) return { type: 'null' };
  if (typeof value === 'bigint') return { type: 'integer', value: String(value) };
  if (typeof value === 'number') return { type: 'float', value };
  if (value instanceof Uint8Array) return { type: 'blob', base64: Buffer.from(value).toString('base64') };
  return { type: 'text', value: value as string };
}
