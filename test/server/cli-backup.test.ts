import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gt } from 'drizzle-orm';
import { Readable } from 'node:stream';
import { runCli } from '#server/cli/program.ts';
import { type TestApp, testApp } from '#test/support/app.ts';

const SECRET = 'a-secret-a-secret-a-secret-a-secret';
const secrets = { SVC_ENCRYPTION_KEY: SECRET, SVC_JWT_SECRET: SECRET, SVC_AGENT_SERVICE_TOKEN: SECRET };
const CONNECTION = {
  name: 'shop',
  db_type: 'postgresql',
  host: '127.0.0.1',
  port: 1,
  database: 'shop',
  username: 'reader',
  password: 'hunter2 hunter2',
};

let t: TestApp;
beforeEach(async () => {
  // `backup` copies an embedded database.
  t = await testApp(secrets, undefined, { metadata: 'sqlite' });
});
afterEach(() => t.close());

async function cli(args: string[], over: Record<string, string> = {}) {
  let [out, err] = ['', ''];
  const code = await runCli(args, {
    environment: { SVC_ENV: 'dev', SVC_KV: 'memory', ...secrets, SVC_DATA_DIR: t.directory, ...over },
    stdin: Readable.from(['']),
    out: (text) => void (out += text),
    err: (text) => void (err += text),
  });
  return { code, out, err };
}

test('vacuum makes the file smaller beside a running server, and loses nothing', async () => {
  await t.signIn();
  const { store } = t.app;
  const { agent_activity } = store.tables;
  const rows = (first: number) =>
    Array.from({ length: 500 }, (_, n) => ({ id: String(first + n), entry: { text: 'x'.repeat(2_000) } as never }));
  for (let first = 0; first < 5_000; first += 500) await store.write((tx) => tx.insert(agent_activity).values(rows(first)));
  await store.write((tx) => tx.delete(agent_activity).where(gt(agent_activity.id, '1')));
  const left = await store.db.$count(agent_activity);
  const { code, out } = await cli(['vacuum']);
  const [, after = '', before = ''] = /has (\S+) MB instead of (\S+) MB/.exec(out) ?? [];
  expect([code, Number(after) < Number(before) / 2]).toEqual([0, true]);
  expect(statSync(join(t.directory, 'sluice.sqlite')).size / 1_000_000).toBeCloseTo(Number(after), 0);
  expect(await store.db.$count(agent_activity)).toBe(left);
  await store.write((tx) => tx.delete(agent_activity));
  expect(await cli(['vacuum'], { SVC_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' })).toMatchObject({
    code: 0,
    out: expect.stringContaining('PostgreSQL frees space by itself'),
  });
});

describe('backup', () => {
  test('copies the database of a running server for its owner only, and never over a file', async () => {
    await t.signIn();
    await t.send('connections.create', CONNECTION);
    const target = join(t.directory, "it's a copy.sqlite");
    const { code, out } = await cli(['backup', target]);
    expect([code, out]).toEqual([0, expect.stringContaining(`uploaded files are in ${join(t.directory, 'databases')}`)]);
    expect(out).toContain('SVC_ENCRYPTION_KEY');
    expect(statSync(target).mode & 0o777).toBe(0o600);
    const copy = new Database(target, { readonly: true });
    expect(copy.query('select name from connections').all()).toEqual([{ name: 'shop' }]);
    copy.close();
    expect(await cli(['backup', target])).toMatchObject({ code: 1, err: expect.stringContaining('already') });
    expect((await cli(['backup', join(t.directory, 'no', 'such', 'folder')])).code).toBe(1);
    expect(readdirSync(t.directory).filter((name) => name.endsWith('.new'))).toEqual([]);
    const restored = join(t.directory, 'restored');
    expect((await cli(['check'], { SVC_DATABASE_URL: `file:${target}`, SVC_DATA_DIR: restored })).code).toBe(0);
  });

  test('leaves its time for the metrics, and records that of a backup by other means', async () => {
    const taken = async () => {
      const text = String((await t.request('GET', '/metrics', {})).body['text']);
      return Number(/^sluice_backup_timestamp_seconds (\S+)$/m.exec(text)?.[1]);
    };
    await t.signIn();
    expect(await taken()).toBe(0);
    await cli(['backup', join(t.directory, 'no', 'such', 'folder')]);
    expect(await taken()).toBe(0);
    await cli(['backup', join(t.directory, 'timed.sqlite')]);
    const first = await taken();
    expect(Math.abs(first - Date.now() / 1_000)).toBeLessThan(60);
    expect(await cli(['backup', '--done'])).toMatchObject({ code: 0, out: expect.stringContaining('recorded') });
    expect(await taken()).toBeGreaterThan(first);
    expect((await cli(['backup'])).code).toBe(64);
    expect((await cli(['backup', 'a file', '--done'])).code).toBe(64);
  });

  test('of PostgreSQL is a line for pg_dump that holds no password', async () => {
    const SVC_DATABASE_URL = 'postgres://sluice:hunter2@db.example:5433/meta?sslmode=require&password=hunter3';
    const { code, out, err } = await cli(['backup', "it's.dump"], { SVC_DATABASE_URL });
    expect(code).toBe(0);
    expect(out).toBe(`pg_dump --format=custom --file='it'\\''s.dump' 'postgres://sluice@db.example:5433/meta?sslmode=require'\n`);
    expect(out + err).not.toContain('hunter');
  });
});
