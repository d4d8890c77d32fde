import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { callTool, connectionOf, keyring, parameterOf, snapshotOf, toolOf } from '#test/mcp-host/support.ts';
import { useHost } from '#test/mcp-host/use-host.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { until } from '#test/support/until.ts';

const KINDS = [
  { kind: 'postgresql' as const, up: reachable.postgres, analyze: 'analyze notes' },
  { kind: 'mysql' as const, up: reachable.mysql, analyze: 'analyze table notes' },
];

for (const { kind, up, analyze } of KINDS) {
  describe.skipIf(!up && process.env['CI'] !== 'true')(`a host with plan limits on ${kind}`, () => {
    const { control, host } = useHost('all');
    let database: TestDatabase;
    beforeAll(async () => {
      database = await testDatabase(kind);
      await database.run('create table notes (id int primary key)');
      await database.run(`insert into notes values ${Array.from({ length: 3_000 }, (_, n) => `(${n})`).join(', ')}`);
      await database.run(analyze);
      const { password, ...settings } = database.settings;
      const draft = connectionOf({ ...settings, name: 'db', ssl_key: null, ssh: null, password: null });
      const $sealed = keyring.seal(password ?? '', `connection/${draft.id}/password`);
      const connection = { ...draft, password: { $sealed } };
      const tool = (name: string, more: object) =>
        toolOf(connection, name, 'select id from notes [[ where id = :id ]]', {
          parameters: [parameterOf('id', 'integer', { required: false })],
          max_rows: 2,
          max_plan_rows: 1_000,
          ...more,
        });
      const tools = [
        tool('refuses', { plan_limit: 'refuse' }),
        tool('warns', {}),
        tool('caches', { cache_ttl_seconds: 60 }),
        tool('fixed', { mode: 'fixed', plan_limit: 'refuse' }),
      ];
      expect(await control.deploy(snapshotOf(1, { connections: [connection], tools }))).toMatchObject({ error: null });
    });
    afterAll(async () => {
      await host.stop();
      await database.drop();
    });
    const texts = async (name: string, args: object = {}) => {
      const { body } = await callTool(host.mcp, name, args);
      const { content, isError = false } = body.result as { content: { text: string }[]; isError?: boolean };
      return { is_error: isError, texts: content.map(({ text }) => text) };
    };

    test('a refusal says the estimate, the limit and what to set, and is logged with its code', async () => {
      for (const name of ['refuses', 'fixed']) {
        const { is_error, texts: sent } = await texts(name);
        expect([name, is_error, sent]).toEqual([
          name,
          true,
          [expect.stringMatching(/3,000 rows .* limited to 1,000\. .* set id\.$/)],
        ]);
        expect(await texts(name, { id: 7 })).toMatchObject({ is_error: false });
      }
      const logged = () => control.usage.flatMap(({ items }) => items).filter(({ error }) => error?.startsWith('plan_too_large'));
      await until(() => logged().length === 2);
    });

    test('a warning follows the rows, also from the cache', async () => {
      for (const name of ['warns', 'caches', 'caches']) {
        const { is_error, texts: sent } = await texts(name);
        expect([name, is_error, sent.at(-1)]).toEqual([name, false, expect.stringContaining('limited to 1,000')]);
      }
      expect((await texts('warns', { id: 7 })).texts).toHaveLength(1);
    });
  });
}
