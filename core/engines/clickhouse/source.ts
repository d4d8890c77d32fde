import { CLICKHOUSE_PLANS } from './explain.ts';
import { estimateBy } from '../shared/plans/estimate.ts';
import { AppError } from '#core/errors.ts';
import { withDeadline } from '../shared/deadline.ts';
import { guardedFetch } from '../shared/dial.ts';
import { CATALOGUE_LIMITS, textOf } from '../shared/rows.ts';
import { createSessionPool } from '../shared/session-pool.ts';
import type { BoundStatement, BoundType, Column, Json, QueryResult, Row } from '#core/lib/sql/result.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { DialPolicy, RunOptions, Source } from '#core/engines/shared/source.ts';
import { plainWarnings } from '../shared/tls.ts';
import { createCatalogue, MARK_SQL } from './catalogue.ts';
import { clickhouseExtras } from './extras.ts';
import { checkText, READS_ONLY } from './guard.ts';
import { openClickhouseServer } from './http.ts';
import { nullableText, SAMPLES } from './parameters.ts';
import { columnsOf } from './rows.ts';
import { createReader } from './run.ts';

/** Maximum of cached texts that the server has described. */
const KNOWN_TEXTS = 500;
const DESCRIBE = 'DESCRIBE (';

/**
 * A ClickHouse server over HTTP, with at most `pool_size` statements at once. There are no sessions: each statement is a separate
 * request with `readonly = 1`. It is only sent once the server has described its text as a query in parentheses, which rules out
 * everything else (KILL, FORMAT, a second statement).
 */
export function openClickhouse(settings: ConnectionSettings, policy: DialPolicy): Source {
  const server = openClickhouseServer(settings, (url, init) => guardedFetch(url, init, policy));
  const reader = createReader(server, clickhouseExtras(settings.extra_params));
  const known = new Set<string>();
  const pool = createSessionPool<'request', { usable: boolean; close(): Promise<void> }>({
    limit: settings.pool_size,
    idle_ms: 0,
    open: async () => ({ usable: false, close: async () => undefined }),
  });

  const using = <Result>(
    { timeout_ms, signal: caller }: Pick<RunOptions, 'timeout_ms' | 'signal'>,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> => withDeadline(timeout_ms, caller, (signal) => pool.use('request', signal, () => work(signal)));

  /**
   * Describing counts and fetches nothing, except for scalar subqueries. An expression may only accept certain texts, so null is
   * tried first.
   * @param sent the values of a call.
   */
  async function describe(
    text: string,
    types: readonly BoundType[],
    timeout_ms: number,
    signal: AbortSignal,
    sent?: readonly Json[],
  ): Promise<Column[]> {
    checkText(text);
    const nulls = types.map((type) => (typeof type === 'object' ? [] : type === 'integer' ? 1 : null));
    const samples = sent ?? types.map((type) => (typeof type === 'object' ? [] : SAMPLES[type]));
    const ask = (wrapped: string, values: readonly Json[]): Promise<QueryResult> => {
      const described = { text: `${DESCRIBE}${wrapped}\n)`, before: DESCRIBE.length, values, types };
      return reader.read(described, { ...CATALOGUE_LIMITS, timeout_ms }, signal);
    };
    const nullable = nullableText(text, types);
    const { rows } = await ask(nullable, nulls).catch((error: unknown) => {
      if (nullable === text || !(error instanceof AppError) || error.code !== 'sql_error') throw error;
      // An error of the statement itself is the same both times.
      return ask(text, samples).catch((other: unknown) => Promise.reject(/Nullable/.test(error.detail) ? other : error));
    });
    if (known.size >= KNOWN_TEXTS) known.clear();
    known.add(text);
    return columnsOf(rows.map((row) => ({ name: textOf(row['name']), type: onOneLine(textOf(row['type'])) })));
  }

  async function query({ text, values, types }: BoundStatement, options: RunOptions, prefix = ''): Promise<QueryResult> {
    if (options.mode === 'write') throw new AppError('not_read_only', READS_ONLY);
    return using(options, async (signal) => {
      if (!known.has(text)) await describe(text, types, options.timeout_ms, signal, values);
      return reader.read({ text: prefix + text, before: prefix.length, values, types }, options, signal);
    });
  }

  const stream: Source['stream'] = ({ text, values, types }, options, receiver) =>
    using(options, async (signal) => {
      if (!known.has(text)) await describe(text, types, options.timeout_ms, signal, values);
      await reader.stream({ text, values, types }, options.timeout_ms, receiver, signal);
    });

  const look = (text: string): Promise<Row[]> =>
    using(
      CATALOGUE_LIMITS,
      async (signal) => (await reader.read({ text, values: [], types: [] }, CATALOGUE_LIMITS, signal)).rows,
    );
  const ability = () => using(CATALOGUE_LIMITS, (signal) => reader.ability(signal));

  const explain: NonNullable<Source['explain']> = (statement, prefix, options) => query(statement, options, prefix);

  return {
    query: (statement, options) => query(statement, options),
    stream,
    explain,
    estimate: estimateBy(CLICKHOUSE_PLANS, explain),
    describe: async (text, types, caller) => ({
      columns: await using({ ...CATALOGUE_LIMITS, signal: caller }, (signal) =>
        describe(text, types, CATALOGUE_LIMITS.timeout_ms, signal),
      ),
    }),
    ...createCatalogue(look, ability),
    async schemaMark() {
      const [row] = await look(MARK_SQL);
      return `${textOf(row?.['n'])} ${textOf(row?.['mark'])}`;
    },
    async test() {
      const [row] = await look('SELECT version() AS version');
      const { readonly, parameters } = await ability();
      const warnings = [
        ...(settings.ssl_mode === 'disable' ? plainWarnings(settings) : []),
        ...(readonly === '1' ? [FIXED_SETTINGS] : []),
        ...(parameters ? [] : ['This server is too old for parameters: only tools without any can be run.']),
      ];
      return { server_version: `ClickHouse ${textOf(row?.['version'])}`, warnings, superuser: false };
    },
    sessions: () => pool.sessions(),
    async close() {
      await pool.close();
      await reader.close();
    },
  };
}

/** Some servers write each element of a tuple type on a separate line. */
const onOneLine = (type: string): string => type.replaceAll(/\(\n\s*/g, '(').replaceAll(/\n\s*/g, ' ');

const FIXED_SETTINGS =
  'The account cannot change settings (readonly = 1): statements have no time limit on the server and are only ended by KILL QUERY, and times come in the time zone of their column or of the server, not in UTC.';
