import { type SQL, sql } from 'drizzle-orm';
import { quantileOf } from '#core/observe/insights/insight.ts';
import { testApp } from '#test/support/app.ts';

/**
 * What a page of the request log and of the history costs, however it is narrowed, with a million rows of each:
 * `bun test/bench/filters.ts [sqlite|postgresql] [rows]`. The limit is 50 ms (median) for each filter and pair of filters.
 */
const [metadata = 'sqlite', rows = '1000000'] = process.argv.slice(2);
const ROWS = Number(rows);
const RUNS = 5;
const MOST_MS = 50;
const is_sqlite = metadata === 'sqlite';

const t = await testApp({}, undefined, { metadata: is_sqlite ? 'sqlite' : 'postgresql' });
await t.signIn();
const { tables } = t.app.store;
const now = t.app.clock().getTime();
const WEEK_MS = 7 * 24 * 3_600_000;
const step_ms = WEEK_MS / ROWS;

/** Rows are added in pieces, because the store ends long statements. */
const PIECE = 100_000;
const pieces = Array.from({ length: Math.ceil(ROWS / PIECE) }, (_, n) => {
  const [first, last] = [n * PIECE, Math.min(ROWS, (n + 1) * PIECE) - 1];
  return is_sqlite
    ? `with recursive n(i) as (select ${first} union all select i + 1 from n where i < ${last})`
    : `with n as (select i from generate_series(${first}::bigint, ${last}) as i)`;
});
const iso = (ms: string) =>
  is_sqlite
    ? `strftime('%Y-%m-%dT%H:%M:%fZ', (${ms}) / 1000.0, 'unixepoch')`
    : `to_char(to_timestamp((${ms}) / 1000.0) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
/** Of people, clients and tools a few are seen most: every second call is of the first. */
const common = (prefix: string, modulus: number) =>
  `case when i % 2 = 0 then '${prefix}0' else '${prefix}' || (i * 7919 % ${modulus}) end`;

for (const numbers of pieces)
  await t.app.store.write((tx) =>
    tx.insert(tables.request_logs).select(
      sql.raw(`${numbers}
      select ${is_sqlite ? 'null' : '10 + i'}, ${iso(`${now} - (${ROWS} - i) * ${step_ms}`)},
        case when i % 50 = 0 then 'resource' when i % 97 = 0 then 'prompt' else 'tool' end, ${common('tool_', 300)},
        ${common('connection_', 20)}, case when i % 11 = 0 then null else ${common('client_', 40)} || '/1.' || (i % 3) end, null,
        20 + i % 50, i % 3, i % 40, i % 20 <> 0, case when i % 20 <> 0 then null else
          case i / 20 % 4 when 0 then 'invalid' when 1 then 'sql_error' when 2 then 'no_free_slot' else 'cancelled' end end,
        1, null, 15 + i % 50, 200, 50, case when i % 20 = 0 then 'no such column: channel' end, null, null, 1 + i * 31 % 5000,
        null, i % 500 = 0, case when i % 1000 = 0 then 'canary' end, null from n`),
    ),
  );
const actor = `'{"type":"admin","id":"p","name":"' || ${common('person_', 60)} || '"}'`;
const json = is_sqlite ? '' : '::jsonb';
for (const numbers of pieces)
  await t.app.store.write((tx) =>
    tx.insert(tables.history).select(
      sql.raw(`${numbers}
      select ${is_sqlite ? "printf('%012d', i)" : "lpad(i::text, 12, '0')"}, case i % 6 when 0 then 'connection' when 1 then 'mcp_token' else 'tool' end,
        'id_' || (i * 7919 % 3000), 'name_' || (i * 7919 % 3000), case when i % 10 = 0 then 'delete' when i % 7 = 0 then 'create' else 'update' end,
        (${actor})${json}, ${common('person_', 60)}, null, '{"description":"as it was"}'${json}, '{"description":"as it is"}'${json}, 1, 2, null,
        ${iso(`${now} - (${ROWS} - i) * ${step_ms}`)} from n`),
    ),
  );

// As the database does by itself a minute later.
if (!is_sqlite) await (t.app.store.db as unknown as { execute(query: SQL): Promise<unknown> }).execute(sql`vacuum analyze`);

const hour = new Date(now - 3_600_000).toISOString();
const day = new Date(now - 24 * 3_600_000).toISOString();
const old = new Date(now - 5 * 24 * 3_600_000).toISOString();
const LOGS: Readonly<Record<string, readonly string[]>> = {
  kind: ['tool', 'resource', 'prompt'],
  name: ['tool_0', 'tool_7', 'no_tool'],
  connection_id: ['connection_0', 'connection_7', 'none'],
  canary: ['canary'],
  client: ['client_0', 'client_7', 'client_7/1.1', 'nobody', ''],
  success: ['true', 'false'],
  outcome: ['ok', 'refused', 'tool_error', 'cancelled'],
  since: [hour, day],
  until: [day, old],
};
const HISTORY: Readonly<Record<string, readonly string[]>> = {
  entity_type: ['tool', 'connection', 'admin'],
  entity_id: ['id_7', 'nothing'],
  action: ['update', 'delete', 'rollback'],
  actor: ['person_0', 'person_7', 'nobody'],
  search: ['name_7', '_29', 'nowhere'],
};

function* queriesOf(filters: Readonly<Record<string, readonly string[]>>): Iterable<string> {
  const single = Object.entries(filters).flatMap(([field, values]) => values.map((value) => ({ field, value })));
  yield '';
  for (const { field, value } of single) yield `${field}=${encodeURIComponent(value)}`;
  for (const one of single)
    for (const other of single)
      if (one.field < other.field)
        yield `${one.field}=${encodeURIComponent(one.value)}&${other.field}=${encodeURIComponent(other.value)}`;
}

const found: { readonly path: string; readonly ms: number }[] = [];
for (const [path, filters] of [
  ['logs', LOGS],
  ['history', HISTORY],
] as const) {
  for (const query of queriesOf(filters)) {
    const took: number[] = [];
    for (let n = 0; n < RUNS; n++) {
      const began = performance.now();
      const answer = await t.request('GET', `/api/v1/${path}?limit=50&${query}`);
      took.push(performance.now() - began);
      if (answer.status !== 200) throw new Error(`${path}?${query}: ${JSON.stringify(answer.body)}`);
    }
    found.push({
      path: `${path}?${query}`,
      ms: quantileOf(
        took.toSorted((a, b) => a - b),
        0.5,
      ),
    });
  }
}
const slow = found.filter(({ ms }) => ms > MOST_MS).toSorted((a, b) => b.ms - a.ms);
for (const { path, ms } of slow) process.stdout.write(`${ms.toFixed(0)} ms ${path}\n`);
const all = found.map(({ ms }) => ms).toSorted((a, b) => a - b);
process.stdout.write(
  `${metadata}, ${ROWS} rows: ${found.length} queries, median ${quantileOf(all, 0.5).toFixed(1)} ms, p95 ${quantileOf(all, 0.95).toFixed(1)} ms, ${slow.length} above ${MOST_MS} ms\n`,
);
await t.close();
process.exit(slow.length > 0 ? 1 : 0);
