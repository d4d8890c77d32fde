import type { ConnectionOptions } from 'node:tls';
import postgres from 'postgres';
import type { Json, QueryResult, Row } from '#core/engines/shared/source.ts';
import { translateError } from '#core/engines/postgresql/errors.ts';
import { declaredOid, TYPES } from '#core/engines/postgresql/types.ts';
import { type BoundArray, type ParseText, toBound } from '#core/engines/postgresql/values.ts';
import { uniqueNames } from '#core/engines/shared/rows.ts';
import type { Database, Limits, NetworkSettings } from '../definitions.ts';
import type { BoundSql } from '../sql.ts';

type Transaction = postgres.TransactionSql;
interface Batch extends Iterable<Json[]> {
  readonly columns?: readonly { readonly name: string; readonly type: number }[] | null;
  readonly count: number | null;
}

const BATCH = 200;

/** What only reads is rolled back. A session is reset before its next call: no lock, setting or temporary table goes from one call to another. */
export function openPostgresql(settings: NetworkSettings): Database {
  const connections = postgres({
    host: settings.host,
    port: settings.port,
    database: settings.database,
    user: settings.username,
    pass: () => settings.password,
    ssl: tlsOf(settings),
    max: settings.pool_size,
    idle_timeout: 60,
    connect_timeout: 10,
    fetch_types: false,
    // The reset drops what is prepared, and the driver would go on naming it.
    prepare: false,
    types: driverTypes(),
    connection: { ...settings.session, TimeZone: 'UTC', DateStyle: 'ISO, YMD', extra_float_digits: '3' },
    onnotice: () => {},
  } as unknown as postgres.Options<Record<string, postgres.PostgresType>>);

  return {
    async query(statement, limits) {
      let result: QueryResult | undefined;
      const work = async (transaction: Transaction) => {
        try {
          // The first query takes the snapshot, after which the transaction can no longer be made writable.
          await transaction.unsafe("select set_config('statement_timeout', $1, true)", [String(limits.timeout_ms)]);
          const fetched = await (limits.writes ? change : read)(transaction, statement, limits);
          await transaction.unsafe(limits.writes ? 'commit' : 'rollback');
          result = fetched;
        } finally {
          await reset(transaction, limits.signal);
        }
      };
      try {
        await (limits.writes ? connections.begin(work) : connections.begin('read only', work));
      } catch (error) {
        // Where the statement is done, only the session is lost.
        if (result === undefined) throw translateError(error, { database: settings.database, text: statement.text });
      }
      if (result === undefined) throw new Error('The database returned no result.');
      return result;
    },
    close: () => connections.end({ timeout: 5 }),
  };
}

/** The driver ends the transaction once more after this, which does nothing. */
async function reset(transaction: Transaction, signal: AbortSignal): Promise<void> {
  try {
    // A cancel that is still under way would meet the next call's statement.
    signal.throwIfAborted();
    await transaction.unsafe('rollback');
    await transaction.unsafe('discard all');
  } catch {
    await transaction.unsafe('select pg_catalog.pg_terminate_backend(pg_catalog.pg_backend_pid())').catch(() => undefined);
  }
}

/** The extended protocol (`simple: false`) takes one statement only. */
function send(transaction: Transaction, { text, values, types, typed }: BoundSql) {
  const bound = values.map((value, i) => {
    const type = types[i] ?? 'string';
    const raw = toBound(value, type);
    return typed ? transaction.typed(raw as never, declaredOid(type)) : raw;
  });
  const options = { simple: false } as postgres.UnsafeQueryOptions;
  return transaction.unsafe(text, bound as never[], options).values();
}

async function cancellable<T>(query: { cancel(): unknown }, signal: AbortSignal, work: () => PromiseLike<T>): Promise<T> {
  const cancel = () => void query.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return await work();
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

async function read(transaction: Transaction, statement: BoundSql, limits: Limits): Promise<QueryResult> {
  const rows = collector(limits);
  const query = send(transaction, statement);
  const batches = query.cursor(Math.min(limits.max_rows + 1, BATCH));
  await cancellable(query, limits.signal, async () => {
    for await (const batch of batches as unknown as AsyncIterable<Batch>) if (!rows.add(batch)) break;
  });
  // Where no row came, the described statement still knows the columns.
  const { columns } = (query as unknown as { readonly statement: Pick<Batch, 'columns'> }).statement;
  rows.describe(columns);
  return rows.result(null);
}

async function change(transaction: Transaction, statement: BoundSql, limits: Limits): Promise<QueryResult> {
  const rows = collector(limits);
  const query = send(transaction, statement);
  const batch = (await cancellable(query, limits.signal, () => query)) as unknown as Batch;
  rows.add(batch);
  return rows.result(batch.count);
}

/** Takes rows up to the limits; `add` is false when nothing more is wanted. */
function collector({ max_rows, max_bytes }: Limits) {
  let columns: QueryResult['columns'] = [];
  const rows: Row[] = [];
  let bytes = 0;
  let truncated = false;
  const describe = (described: Batch['columns']): void => {
    const names = uniqueNames((described ?? []).map(({ name }) => name));
    columns = names.map((name, i) => {
      const type = TYPES.get(described?.[i]?.type ?? 0);
      return { name, type: type?.name ?? 'unknown', kind: type?.kind ?? 'string' };
    });
  };
  return {
    describe,
    add(batch: Batch): boolean {
      describe(batch.columns);
      for (const cells of batch) {
        const row = Object.fromEntries(columns.map(({ name }, i) => [name, cells[i] ?? null]));
        bytes += JSON.stringify(row).length;
        truncated = rows.length >= max_rows || bytes > max_bytes;
        if (truncated) return false;
        rows.push(row);
      }
      return true;
    },
    result: (count: number | null): QueryResult => ({
      columns,
      rows,
      truncated,
      affected_rows: columns.length > 0 ? null : (count ?? 0),
    }),
  };
}

function tlsOf({ ssl_mode, ssl_ca, ssl_cert, ssl_key }: NetworkSettings): false | 'prefer' | ConnectionOptions {
  if (ssl_mode === 'disable') return false;
  if (ssl_mode === null && ssl_ca === null) return 'prefer';
  return {
    rejectUnauthorized: ssl_mode !== 'require',
    ...(ssl_mode === 'verify-ca' && { checkServerIdentity: () => undefined }),
    ...(ssl_ca !== null && { ca: ssl_ca }),
    ...(ssl_cert !== null && { cert: ssl_cert }),
    ...(ssl_key !== null && { key: ssl_key }),
  };
}

interface DriverType {
  readonly to: number;
  readonly from: number[];
  readonly parse: ParseText | undefined;
  readonly serialize: (value: string | BoundArray) => string;
}

/** Every value goes and comes as text, and none of the driver's own conversions remain. */
function driverTypes(): Record<string, DriverType> {
  const asText = (value: string | BoundArray) => String(value);
  const asJsonText = (value: string | BoundArray) => (typeof value === 'string' ? value : value.json);
  const entries = [...TYPES].map(([oid, { name, parse }]): [string, DriverType] => {
    const is_json = name === 'json' || name === 'jsonb';
    return [`oid_${oid}`, { to: oid, from: [oid], parse, serialize: is_json ? asJsonText : asText }];
  });
  return Object.fromEntries(entries);
}
