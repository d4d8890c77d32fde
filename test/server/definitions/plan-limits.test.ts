import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Answer, testApp, type TestApp } from '#test/support/app.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';

let t: TestApp;
let sqlite = '';
let made = 0;
beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  sqlite = await sqliteConnection(t, 'create table notes (id integer primary key)');
});
afterAll(() => t.close());

const draft = (connection_id: string, more: object = {}) => ({
  name: `tool_${++made}`,
  connection_id,
  description: 'Lists notes in the order of their numbers.',
  sql_query: 'select id from notes',
  ...more,
});
const errorsOf = ({ body }: Answer) => body.errors ?? [];

test('limits on plans are refused for a database whose plans have no row counts', async () => {
  for (const field of ['max_plan_rows', 'max_plan_cost']) {
    const answer = await t.send('tools.create', draft(sqlite, { [field]: 5 }));
    expect([answer.status, errorsOf(answer)]).toEqual([422, [{ field, message: expect.stringContaining('SQLite') }]]);
    const preview = await t.send('preview.execute', { connection_id: sqlite, sql_query: 'select 1', [field]: 5 });
    expect([preview.status, errorsOf(preview)]).toEqual([422, [{ field, message: expect.stringContaining('SQLite') }]]);
  }
});

const KINDS = [
  { kind: 'postgresql' as const, up: reachable.postgres, cost: 201 },
  { kind: 'mysql' as const, up: reachable.mysql, cost: 422 },
];

for (const { kind, up, cost } of KINDS) {
  describe.skipIf(!up && process.env['CI'] !== 'true')(`limits on plans of a tool on ${kind}`, () => {
    let database: TestDatabase;
    let connection_id = '';
    beforeAll(async () => {
      database = await testDatabase(kind);
      await database.run('create table notes (id int primary key)');
      await database.run(`insert into notes values ${Array.from({ length: 2_000 }, (_, n) => `(${n})`).join(', ')}`);
      await database.run(kind === 'mysql' ? 'analyze table notes' : 'analyze notes');
      const { host, port, database: name, username } = database.settings;
      const target = { db_type: kind, host, port, database: name, username, ssl_mode: 'disable' as const };
      connection_id = (await t.call('connections.create', { name: kind, ...target })).id;
    });
    afterAll(() => database.drop());
    const createTool = (more: object = {}) => t.send('tools.create', draft(connection_id, more));

    test('are off by default, stored, exported, and refused where they have no effect', async () => {
      expect((await createTool()).body).toMatchObject({ max_plan_rows: null, max_plan_cost: null, plan_limit: 'warn' });
      const { status, body } = await createTool({ max_plan_rows: 1_000, plan_limit: 'refuse' });
      expect([status, body.max_plan_rows, body.plan_limit]).toEqual([201, 1_000, 'refuse']);
      expect((await createTool({ max_plan_cost: 1_000 })).status).toBe(cost);
      const exported = await t.call('transfer.export', {});
      expect(exported.tools.find((tool) => tool['name'] === body.name)).toMatchObject({
        max_plan_rows: 1_000,
        plan_limit: 'refuse',
      });
      const refused: [object, string, string][] = [
        [{ plan_limit: 'refuse' }, 'plan_limit', 'needs max_plan_rows or max_plan_cost'],
        [{ max_plan_rows: 5, sql_query: 'delete from notes where id = 1' }, 'max_plan_rows', 'max_affected_rows'],
        [{ max_plan_rows: 0 }, 'max_plan_rows', ''],
        [{ plan_limit: 'stop' }, 'plan_limit', ''],
      ];
      for (const [more, field, words] of refused) {
        const answer = await createTool(more);
        expect([more, answer.status, errorsOf(answer)[0]]).toEqual([
          more,
          422,
          { field, message: expect.stringContaining(words) },
        ]);
      }
    });

    test('hold for a test run in the builder', async () => {
      const run = (more: object) =>
        t.send('preview.execute', { connection_id, sql_query: 'select id from notes', return_type: 'rows', ...more });
      const refused = await run({ max_plan_rows: 100, plan_limit: 'refuse' });
      expect([refused.status, refused.body.code]).toEqual([409, 'plan_too_large']);
      const warned = await run({ max_plan_rows: 100 });
      expect(warned.status).toBe(200);
      expect(JSON.stringify(warned.body.model)).toContain('this tool is limited to 100');
      expect(JSON.stringify((await run({ max_plan_rows: 100_000 })).body.model)).not.toContain('limited');
    });

    if (kind === 'postgresql') {
      test('a generated project leaves out a tool that refuses by its plan, and keeps one that warns', async () => {
        const strict = await createTool({ sql_query: 'select 1 as one', max_plan_rows: 5, plan_limit: 'refuse' });
        const mild = await createTool({ sql_query: 'select 1 as one', max_plan_rows: 5 });
        expect((await t.send('deploy.run')).status).toBe(200);
        const { files } = await t.call('server.generated', {});
        expect(files.some(({ path }) => path.endsWith(`/${strict.body.name}.ts`))).toBe(false);
        expect(files.some(({ path }) => path.endsWith(`/${mild.body.name}.ts`))).toBe(true);
        expect(files.find(({ path }) => path === 'README.md')?.content).toContain('which only Sluice reads');
      });
    }
  });
}
