import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { OUT_OF_MEMORY, toDuckdbError } from '#core/engines/duckdb/errors.ts';
import { READ, refusal, sql } from '../shared/suite.ts';
import { childSuite } from '../shared/child-suite.ts';
import { children, createDuckdbFolder } from './fixture.ts';
import { until } from '#test/support/until.ts';

const ENDLESS = 'select count(*) from range(100000000000) a, range(10) b where hash(a.range + b.range) = 5';
/** Makes its constant before it can be interrupted. */
const DEAF = `select length(lpad('x', 400000000, 'y')), length(lpad('x', 399999999, 'y')), length(lpad('x', 399999998, 'y'))`;
const files = createDuckdbFolder();

beforeAll(() => files.create('main.duckdb', 'CREATE TABLE t (id INTEGER); INSERT INTO t VALUES (1)'));

afterAll(async () => {
  await files.remove();
  expect(children()).toEqual([]);
});

childSuite(files, children, 'main.duckdb', ENDLESS);

describe('a runaway statement', () => {
  test('is interrupted at its time limit, and its program serves the next call', async () => {
    const source = files.open('main.duckdb', { pool_size: 1 });
    await source.test();
    const [pid] = children();
    const start = performance.now();
    expect((await refusal(source.query(sql(ENDLESS), { ...READ, timeout_ms: 200 }))).code).toBe('timeout');
    expect(performance.now() - start).toBeWithin(190, 8_000);
    expect((await source.query(sql('SELECT id FROM t'), READ)).rows).toEqual([{ id: 1 }]);
    expect(children()).toEqual([pid!]);
    await source.close();
    expect(children()).toEqual([]);
  });

  test('is killed when it hears nothing', async () => {
    const source = files.open('main.duckdb', { pool_size: 1 });
    await source.test();
    const [pid] = children();
    expect((await refusal(source.query(sql(DEAF), { ...READ, timeout_ms: 100 }))).code).toBe('timeout');
    expect(children()).not.toContain(pid!);
    expect((await source.query(sql('SELECT id FROM t'), READ)).rows).toEqual([{ id: 1 }]);
    await source.close();
  });
});

/** KiB that belong to a process alone, on Linux. */
const ownMemory = (pid: number): number =>
  [...readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').matchAll(/^Private_\w+: +(\d+)/gm)].reduce(
    (sum, [, kib]) => sum + Number(kib),
    0,
  );

describe('sessions', () => {
  test.skipIf(process.platform !== 'linux')(
    'take at most 60 MiB while they are idle, and nothing before the first call',
    async () => {
      const source = files.open('main.duckdb');
      expect(children()).toEqual([]);
      await source.query(sql('SELECT id FROM t'), READ);
      const [pid = 0] = children();
      await until(() => ownMemory(pid) < 60 * 1024);
      await source.close();
      expect(children()).toEqual([]);
    },
  );

  test('need the optional package, and say so where it is missing', async () => {
    const root = join(files.root, 'bare');
    const source = join(import.meta.dir, '../../../..');
    mkdirSync(join(root, 'node_modules'), { recursive: true });
    for (const name of ['core', 'snapshots', 'package.json']) cpSync(join(source, name), join(root, name), { recursive: true });
    symlinkSync(join(source, 'node_modules/valibot'), join(root, 'node_modules/valibot'));
    const settings = { db_type: 'duckdb', database: 'main.duckdb', pool_size: 1, extra_params: {} };
    const program = `
      const { openDuckdb } = await import(${JSON.stringify(join(root, 'core/engines/duckdb/source.ts'))});
      const source = openDuckdb(${JSON.stringify(settings)}, ${JSON.stringify(files.policy)});
      console.log(await source.test().catch((error) => [error.code, error.detail].join(' ')));
      await source.close();`;
    const child = Bun.spawn([process.execPath, '--no-install', '-e', program], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    expect(await new Response(child.stdout).text()).toStartWith(
      'database_unreachable The DuckDB package is missing here: install',
    );
  });

  test('are at most pool_size, opened on demand, and never more than four', async () => {
    for (const [pool_size, most] of [
      [2, 2],
      [10, 4],
    ] as const) {
      const source = files.open('main.duckdb', { pool_size });
      expect(source.sessions()).toBe(0);
      const results = await Promise.all(
        Array.from({ length: 20 }, () => source.query(sql('select count(*) as n from range(5000000)'), READ)),
      );
      expect(results.every(({ rows }) => rows[0]?.['n'] === 5_000_000)).toBe(true);
      expect(source.sessions()).toBe(most);
      await source.close();
      expect(source.sessions()).toBe(0);
      expect((await refusal(source.query(sql('SELECT 1'), READ))).code).toBe('unavailable');
    }
  });

  test('a file that another program writes is waited for, then reported as busy, until a reader makes room', async () => {
    await files.create('busy.duckdb', 'CREATE TABLE t (id INTEGER)');
    const source = files.open('busy.duckdb');
    const program = `
      const { DuckDBInstance } = await import('@duckdb/node-api');
      const instance = await DuckDBInstance.create(${JSON.stringify(join(files.folder, 'busy.duckdb'))});
      console.log('ready');
      // A database that nothing refers to is closed with the next collection of garbage.
      await new Promise(() => setInterval(() => instance, 1000));`;
    const writer = Bun.spawn([process.execPath, '-e', program], { cwd: import.meta.dir, stdio: ['ignore', 'pipe', 'inherit'] });
    await writer.stdout.getReader().read();
    const { code, detail } = await refusal(source.query(sql('SELECT * FROM t'), READ)).finally(() =>
      setTimeout(() => writer.kill('SIGKILL'), 500),
    );
    expect(code).toBe('unavailable');
    expect(detail).toBe('Another program has this DuckDB file open for writing; try again when it is done.');
    const waiting = source.query(sql('SELECT * FROM t'), READ);
    expect((await waiting).rows).toEqual([]);
    await writer.exited;
    // Idle for five seconds, the source lets the file go.
    await until(() => source.sessions() === 0);
    const instance = await DuckDBInstance.create(join(files.folder, 'busy.duckdb'));
    instance.closeSync();
    await source.close();
  }, 60_000);

  test('a file that is replaced is seen by the next call, and a running call ends on the old one', async () => {
    await files.create('swap.duckdb', 'CREATE TABLE t AS SELECT 1 AS id');
    const source = files.open('swap.duckdb');
    const slow = source.query(sql('SELECT id, (SELECT count(*) FROM range(30000000)) AS n FROM t'), READ);
    await until(() => children().length > 0);
    await files.create('next.duckdb', 'CREATE TABLE t AS SELECT 2 AS id');
    await rename(join(files.folder, 'next.duckdb'), join(files.folder, 'swap.duckdb'));
    expect((await slow).rows[0]?.['n']).toBe(30_000_000);
    expect((await source.query(sql('SELECT id FROM t'), READ)).rows).toEqual([{ id: 2 }]);
    await source.close();
  });

  test('what is no database, or outside of the folder, is named', async () => {
    files.write('broken.duckdb', 'this is no database');
    files.write('text.txt', 'x');
    expect(await refusal(files.open('broken.duckdb').test())).toMatchObject({
      code: 'database_unreachable',
      detail: 'The file is not a readable DuckDB database.',
    });
    for (const [database, reason] of [
      ['none.duckdb', 'database_missing'],
      ['../x.duckdb', undefined],
      ['/etc/passwd', undefined],
      ['text.txt', undefined],
      ['.', undefined],
    ] as const) {
      expect([database, (await refusal(files.open(database).test())).reason]).toEqual([database, reason]);
    }
  });
});

test('a value that reads like a fault of the program ends no process', async () => {
  const source = files.open('main.duckdb', { pool_size: 1 });
  await source.test();
  const [pid] = children();
  for (const value of ['out of memory', 'Could not set lock', 'database has been invalidated']) {
    const error = await refusal(source.query(sql('SELECT CAST($1 AS INTEGER) AS n', [value], ['string']), READ));
    expect([error.code, error.detail]).toEqual(['sql_error', expect.stringContaining(`Could not convert string '${value}'`)]);
  }
  const named = await refusal(source.query(sql('SELECT "out of memory" FROM t'), READ));
  expect(named.detail).toContain('"out of memory" not found');
  expect(children()).toEqual([pid!]);
  await source.close();
});

test('a statement that runs out of memory is told so, whatever DuckDB says of it', () => {
  const told = 'failed to pin block of size 256.0 KiB (244.0 MiB/244.1 MiB used)\n\nDatabase is launched in in-memory mode.';
  const message = JSON.stringify({ exception_type: 'Out of Memory', exception_message: told });
  expect(toDuckdbError({ message, refused: null, writes: false }).detail).toBe(OUT_OF_MEMORY);
});

test('a long value that DuckDB quotes does not hold up other callers', async () => {
  const source = files.open('main.duckdb', { pool_size: 1 });
  await source.test();
  let [longest, last] = [0, performance.now()];
  const ticking = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 10);
  const statement = sql('SELECT CAST($1 AS INTEGER) AS n', [' '.repeat(100_000)], ['string']);
  const error = await refusal(source.query(statement, READ));
  await Bun.sleep(20);
  clearInterval(ticking);
  expect(error.code).toBe('sql_error');
  expect(error.detail).toStartWith('Could not convert string');
  expect(error.detail.length).toBeLessThan(5_000);
  expect(longest).toBeLessThan(1_000);
  await source.close();
});
