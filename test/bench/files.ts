import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { openDuckdb } from '#core/engines/duckdb/source.ts';

/**
 * `bun test/bench/files.ts [rows] [lookups] [MiB]`: a point lookup on a folder with one Parquet and one CSV file, one call at a time, beside
 * the engine itself on the same files and on a table of its own. Then 500 small files and one CSV of so many MiB (1 024): how long they
 * take to be read, what one of them costs when it changes, and calls while one is replaced again and again. Prints Markdown.
 */
const rows = Number(process.argv[2] ?? 1_000_000);
const lookups = Number(process.argv[3] ?? 500);
const large = Number(process.argv[4] ?? 1_024);
const root = mkdtempSync(join(tmpdir(), 'sluice-bench-files-'));
const folder = join(root, 'databases/bench');
mkdirSync(folder, { recursive: true });

const instance = await DuckDBInstance.create(join(root, 'raw.duckdb'), { threads: '2' });
const raw = await instance.connect();
await raw.run(`CREATE TABLE own AS SELECT range AS id, 'row number ' || range AS name, range * 1.5 AS price FROM range(${rows})`);
for (const kind of ['parquet', 'csv']) await raw.run(`COPY own TO '${join(folder, `${kind}_rows.${kind}`)}'`);

const policy = {
  allow_private_networks: true,
  forbidden: [],
  sqlite_dir: join(root, 'databases'),
  cache_dir: join(root, 'cache'),
};
const open = (database: string) =>
  openDuckdb(
    {
      db_type: 'duckdb',
      host: null,
      port: null,
      database,
      username: null,
      password: null,
      ssl_mode: null,
      ssl_ca: null,
      ssl_cert: null,
      ssl_key: null,
      extra_params: {},
      pool_size: 1,
    },
    policy,
  );
const source = open('bench');
const options = { mode: 'fixed', timeout_ms: 600_000, max_rows: 10, max_bytes: 100_000 } as const;

async function median(work: (id: number) => Promise<unknown>): Promise<string> {
  await work(0);
  const times: number[] = [];
  for (let n = 0; n < lookups; n++) {
    const began = performance.now();
    await work(Math.floor((n * rows) / lookups));
    times.push(performance.now() - began);
  }
  const sorted = times.toSorted((a, b) => a - b);
  return `${(sorted[Math.floor(sorted.length / 2)] ?? 0).toFixed(2)} ms`;
}

const direct = (from: string) => (id: number) => raw.runAndReadAll(`SELECT * FROM ${from} WHERE id = $1`, [BigInt(id)]);
const served = (table: string) => (id: number) =>
  source.query({ text: `SELECT * FROM ${table} WHERE id = $1`, values: [id], types: ['integer'] }, options);

const lines = ['| point lookup, p50, one at a time | Sluice | DuckDB on the file | DuckDB on a table |', '|---|---|---|---|'];
for (const kind of ['parquet', 'csv']) {
  const file = `'${join(folder, `${kind}_rows.${kind}`)}'`;
  const cells = [await median(served(`${kind}_rows`)), await median(direct(file)), await median(direct('own'))];
  lines.push(`| ${kind}, ${rows.toLocaleString('en')} rows | ${cells.join(' | ')} |`);
}
process.stdout.write(`${lines.join('\n')}\n`);
await source.close();

const seconds = (began: number): string => `${((performance.now() - began) / 1_000).toFixed(2)} s`;
const ask = (from: ReturnType<typeof open>, text: string) => from.query({ text, values: [], types: [] }, options);
const report = (what: string, result: string): void => void process.stdout.write(`- ${what}: ${result}\n`);
const put = (name: string, text: string): void => {
  const path = join(root, 'databases', name);
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
};

mkdirSync(join(root, 'databases/many'));
for (let n = 0; n < 500; n++) put(`many/file_${n}.csv`, `id,name\n${n},x\n`);
const many = open('many');
let began = performance.now();
await ask(many, 'SELECT count(*) AS n FROM file_499');
report('500 small CSV files, first call', seconds(began));
began = performance.now();
put('many/file_7.csv', 'id,name\n777,x\n');
while ((await ask(many, 'SELECT id FROM file_7')).rows[0]?.['id'] !== 777) await Bun.sleep(50);
report('one of them changed, seen after', seconds(began));
let calls = 0;
let lost = 0;
for (let round = 0; round < 10; round++) {
  put('many/file_8.csv', `id\n${`${round}\n`.repeat(10_000)}`);
  for (const until = performance.now() + 1_000; performance.now() < until; calls++) {
    const [row] = await ask(many, 'SELECT min(id) = max(id) AS whole FROM file_8').then(
      ({ rows: found }) => found,
      () => [],
    );
    if (row?.['whole'] !== true) lost++;
  }
}
report('calls while one is replaced every second, 10 s', `${calls}, ${lost} lost`);
await many.close();

mkdirSync(join(root, 'databases/large'));
const csv = join(root, 'databases/large/large.csv');
const per_mib = 23_000;
await raw.run(
  `COPY (SELECT range AS id, 'row number ' || range AS name, range * 1.5 AS price, hash(range) AS code FROM range(${large * per_mib})) TO '${csv}' (HEADER)`,
);
let peak = 0;
const watch = setInterval(() => {
  for (const pid of readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').trim().split(' ')) {
    try {
      peak = Math.max(peak, Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0));
    } catch {
      // It ended meanwhile.
    }
  }
}, 200);
const big = open('large');
began = performance.now();
const { rows: counted } = await ask(big, 'SELECT count(*) AS n FROM large');
clearInterval(watch);
report(
  `CSV of ${(statSync(csv).size / 1024 ** 2).toFixed(0)} MiB, ${JSON.stringify(counted[0]?.['n'])} rows, first call`,
  `${seconds(began)}, ${(peak / 1024).toFixed(0)} MiB of memory at most`,
);
report(
  'point lookup in it, p50',
  await median((id) => big.query({ text: 'SELECT * FROM large WHERE id = $1', values: [id], types: ['integer'] }, options)),
);
await big.close();
raw.closeSync();
instance.closeSync();
rmSync(root, { recursive: true });
