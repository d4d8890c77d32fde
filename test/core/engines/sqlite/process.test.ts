import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { READ, refusal, sql, WRITE } from '../shared/suite.ts';
import { childSuite } from '../shared/child-suite.ts';
import { children, createSqliteFolder } from './fixture.ts';

const ENDLESS = 'WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT count(*) FROM c';
const counting = (to: number) =>
  `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT ${to}) SELECT max(i) AS m FROM c`;
const files = createSqliteFolder();

beforeAll(() => {
  files.create('main.db', 'CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)');
});

afterAll(async () => {
  await files.remove();
  expect(children()).toEqual([]);
});

childSuite(files, children, 'main.db', ENDLESS);

describe('a runaway statement', () => {
  test('is stopped at its time limit with its process, and the next call gets a new one', async () => {
    const source = files.open('main.db', { pool_size: 1 });
    await source.test();
    const [pid] = children();
    const start = performance.now();
    expect((await refusal(source.query(sql(ENDLESS), { ...READ, timeout_ms: 200 }))).code).toBe('timeout');
    expect(performance.now() - start).toBeWithin(190, 8_000);
    expect(children()).toEqual([]);
    expect(source.sessions()).toBe(0);
    expect((await source.query(sql('SELECT id FROM t'), READ)).rows).toEqual([{ id: 1 }]);
    expect(children()).not.toContain(pid!);
    await source.close();
    expect(children()).toEqual([]);
  });

  test('that writes is undone when it is stopped', async () => {
    files.create('journal.db', 'CREATE TABLE t (id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1, 0)');
    const source = files.open('journal.db');
    const text = `INSERT INTO t (a) WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT i FROM c`;
    expect((await refusal(source.query(sql(text), { ...WRITE, timeout_ms: 300 }))).code).toBe('timeout');
    expect((await source.query(sql('SELECT count(*) AS n FROM t'), READ)).rows).toEqual([{ n: 1 }]);
    expect((await source.query(sql('UPDATE t SET a = 5'), WRITE)).affected_rows).toBe(1);
    await source.close();
  });
});

test('a process that dies at the commit leaves its outcome open', async () => {
  files.create('commit.db', 'CREATE TABLE t (id INTEGER PRIMARY KEY)');
  const source = files.open('commit.db');
  const review = () => {
    for (const pid of children()) process.kill(pid, 'SIGKILL');
    return true;
  };
  expect(await refusal(source.query(sql('INSERT INTO t VALUES (2)'), { ...WRITE, review }))).toMatchObject({
    code: 'database_unreachable',
    reason: 'commit_unknown',
  });
  await source.close();
});

describe('sessions', () => {
  test('are at most pool_size and opened on demand', async () => {
    const source = files.open('main.db', { pool_size: 2 });
    expect(source.sessions()).toBe(0);
    await source.query(sql('SELECT 1'), READ);
    expect(source.sessions()).toBe(1);
    const results = await Promise.all(Array.from({ length: 20 }, () => source.query(sql(counting(20_000)), READ)));
    expect(results.every(({ rows }) => rows[0]?.['m'] === 20_000)).toBe(true);
    expect(source.sessions()).toBe(2);
    expect(children()).toHaveLength(2);
    await source.close();
    expect(source.sessions()).toBe(0);
    expect((await refusal(source.query(sql('SELECT 1'), READ))).code).toBe('unavailable');
  });

  test('serve waiting calls in their order', async () => {
    const source = files.open('main.db', { pool_size: 1 });
    const order: number[] = [];
    const call = async (i: number) => order.push(await source.query(sql(counting(5_000)), READ).then(() => i));
    await Promise.all(Array.from({ length: 10 }, (_, i) => call(i)));
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    await source.close();
  });

  test('never serve both kinds: with one place a reader makes room for a writer', async () => {
    files.create('turns.db', 'CREATE TABLE t (id INTEGER PRIMARY KEY)');
    const source = files.open('turns.db', { pool_size: 1 });
    for (let i = 1; i <= 3; i++) {
      expect((await source.query(sql('INSERT INTO t DEFAULT VALUES'), WRITE)).affected_rows).toBe(1);
      expect((await source.query(sql('SELECT count(*) AS n FROM t'), READ)).rows).toEqual([{ n: i }]);
      expect(children()).toHaveLength(1);
    }
    await source.close();
  });

  test('a waiting call leaves the queue at its own time limit', async () => {
    const source = files.open('main.db', { pool_size: 1 });
    const running = refusal(source.query(sql(ENDLESS), { ...READ, timeout_ms: 300 }));
    expect((await refusal(source.query(sql('SELECT 1'), { ...READ, timeout_ms: 50 }))).code).toBe('timeout');
    expect((await running).code).toBe('timeout');
    expect((await source.query(sql('SELECT 1 AS a'), READ)).rows).toEqual([{ a: 1 }]);
    await source.close();
  });

  test('closing waits for what runs', async () => {
    const source = files.open('main.db');
    const running = source.query(sql(counting(300_000)), READ);
    await Bun.sleep(30);
    await source.close();
    expect((await running).rows).toEqual([{ m: 300_000 }]);
    expect(children()).toEqual([]);
  });

  test('a file that another program writes is waited for, then named as busy', async () => {
    files.create('busy.db', 'CREATE TABLE t (id INTEGER PRIMARY KEY)');
    const source = files.open('busy.db', { pool_size: 2 });
    const writer = new DatabaseSync(join(files.folder, 'busy.db'));
    writer.exec('BEGIN IMMEDIATE; INSERT INTO t VALUES (1)');
    expect((await source.query(sql('SELECT count(*) AS n FROM t'), READ)).rows).toEqual([{ n: 0 }]);
    const waiting = source.query(sql('INSERT INTO t VALUES (2)'), WRITE);
    await Bun.sleep(100);
    writer.exec('COMMIT');
    expect((await waiting).affected_rows).toBe(1);
    writer.exec('BEGIN IMMEDIATE');
    expect((await refusal(source.query(sql('INSERT INTO t VALUES (3)'), { ...WRITE, timeout_ms: 8_000 }))).code).toBe(
      'unavailable',
    );
    writer.exec('ROLLBACK');
    writer.close();
    await source.close();
  }, 60_000);

  test('processes end with the program that started them, even in the middle of a runaway statement', async () => {
    const program = `
      const { openSqlite } = await import(${JSON.stringify(join(import.meta.dir, '../../../../core/engines/sqlite/source.ts'))});
      const source = openSqlite(${JSON.stringify({ db_type: 'sqlite', database: 'main.db', pool_size: 1 })}, ${JSON.stringify(files.policy)});
      await source.test();
      console.log('ready');
      await source.query({ text: ${JSON.stringify(ENDLESS)}, values: [], types: [] }, ${JSON.stringify({ ...READ, timeout_ms: 60_000 })});`;
    const parent = Bun.spawn([process.execPath, '-e', program], { cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] });
    await parent.stdout.getReader().read();
    await Bun.sleep(150);
    const held = Bun.spawnSync(['ps', '-o', 'pid=', '--ppid', String(parent.pid)])
      .stdout.toString()
      .trim();
    expect(held).not.toBe('');
    parent.kill('SIGKILL');
    await parent.exited;
    await Bun.sleep(200);
    // A dead process whose new parent has not looked after it yet is a zombie: Z.
    expect(Bun.spawnSync(['ps', '-o', 'stat=', '-p', held]).stdout.toString().trim()).toMatch(/^(Z.*)?$/);
  });
});
