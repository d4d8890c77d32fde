import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { openDuckdb } from '#core/engines/duckdb/source.ts';

/**
 * `bun test/bench/files.ts [rows] [lookups]`: a point lookup on a folder with one Parquet and one CSV file, one call at a time, beside
 * the engine itself on the same files and on a table of its own. Prints rows of a Markdown table.
 */
const rows = Number(process.argv[2] ?? 1_000_000);
const lookups = Number(process.argv[3] ?? 500);
const root = mkdtempSync(join(tmpdir(), 'sluice-bench-files-'));
const folder = join(root, 'databases/bench');
mkdirSync(folder, { recursive: true });

const instance = await DuckDBInstance.create(join(root, 'raw.duckdb'), { threads: '2' });
const raw = await instance.connect();
await raw.run(`CREATE TABLE own AS SELECT range AS id, 'row number ' || range AS name, range * 1.5 AS price FROM range(${rows})`);
for (const kind of ['parquet', 'csv']) await raw.run(`COPY own TO '${join(folder, `${kind}_rows.${kind}`)}'`);

const source = openDuckdb(
  {
    db_type: 'duckdb',
    host: null,
    port: null,
    database: 'bench',
    username: null,
    password: null,
    ssl_mode: null,
    ssl_ca: null,
    ssl_cert: null,
    ssl_key: null,
    extra_params: {},
    pool_size: 1,
  },
  { allow_private_networks: true, forbidden: [], sqlite_dir: join(root, 'databases'), cache_dir: join(root, 'cache') },
);
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
  source.query({ text: `SELECT * FROM ${table} WHERE id = $1`, values: [id], types: ['integer'], typed: false }, options);

const lines = ['| point lookup, p50, one at a time | Sluice | DuckDB on the file | DuckDB on a table |', '|---|---|---|---|'];
for (const kind of ['parquet', 'csv']) {
  const file = `'${join(folder, `${kind}_rows.${kind}`)}'`;
  const cells = [await median(served(`${kind}_rows`)), await median(direct(file)), await median(direct('own'))];
  lines.push(`| ${kind}, ${rows.toLocaleString('en')} rows | ${cells.join(' | ')} |`);
}
process.stdout.write(`${lines.join('\n')}\n`);
await source.close();
raw.closeSync();
instance.closeSync();
rmSync(root, { recursive: true });
