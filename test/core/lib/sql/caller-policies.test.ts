import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openSource } from '#core/engines/index.ts';
import type { SessionState, Source } from '#core/engines/shared/source.ts';
import { mysqlViews, postgresPolicies } from '#core/lib/sql/caller-policies.ts';
import { localPolicy, reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';

const account = `policy_${crypto.randomUUID().slice(0, 8)}`;
const KINDS = [
  {
    kind: 'postgresql' as const,
    up: reachable.postgres,
    names: ['app.tenant', 'app.groups'] as const,
    write: postgresPolicies,
    tables: ['orders', 'notes'] as const,
    user: `create role ${account} login`,
    drop: [`drop owned by ${account}`, `drop role ${account}`],
  },
  {
    kind: 'mysql' as const,
    up: reachable.mysql,
    names: ['tenant', 'groups_of'] as const,
    write: mysqlViews,
    tables: ['orders_of_caller', 'notes_of_caller'] as const,
    user: `create user ${account}@'%'`,
    drop: [`drop user ${account}@'%'`],
  },
];

for (const { kind, up, names, write, tables, user, drop } of KINDS) {
  describe.skipIf(!up && process.env['CI'] !== 'true')(`what is generated for ${kind}`, () => {
    let database: TestDatabase;
    let source: Source;

    beforeAll(async () => {
      database = await testDatabase(kind);
      for (const statement of [
        user,
        'create table orders (id int, owner varchar(50))',
        'create table notes (id int, team varchar(50))',
        "insert into orders values (1, 'ada'), (2, 'grace'), (3, 'o''brien')",
        "insert into notes values (1, 'red'), (2, 'blue'), (3, 'green')",
      ])
        await database.run(statement);
      const schema = kind === 'postgresql' ? 'public' : database.settings.database;
      const own = write({ schema, table: 'orders', column: 'owner', value: names[0], is_list: false, account });
      const teams = write({ schema, table: 'notes', column: 'team', value: names[1], is_list: true, account });
      await database.run(own);
      await database.run(teams);
      const session_values = names.map((name) => ({ name, from: 'caller.sub' }));
      source = await openSource({ ...database.settings, username: account, session_values }, localPolicy);
    });
    afterAll(async () => {
      await source.close();
      for (const statement of drop) await database.run(statement);
      await database.drop();
    });

    const ids = async (table: string, session: SessionState | undefined) => {
      const statement = { text: `select id from ${table} order by id`, values: [], types: [] };
      const { rows } = await source.query(statement, {
        mode: 'read',
        timeout_ms: 5_000,
        max_rows: 10,
        max_bytes: 10_000,
        session,
      });
      return rows.map((row) => row['id']);
    };
    const told = (tenant: string | null, groups: string | null): SessionState => ({ values: [tenant, groups], role: null });

    test('each caller reads own rows, and nobody reads none', async () => {
      expect(await ids(tables[0], told('ada', null))).toEqual([1]);
      expect(await ids(tables[0], told("o'brien", null))).toEqual([3]);
      expect(await ids(tables[0], told("' or true --", null))).toEqual([]);
      expect(await ids(tables[0], told(null, null))).toEqual([]);
      expect(await ids(tables[0], undefined)).toEqual([]);
    });

    test('a list is a list of its elements', async () => {
      expect(await ids(tables[1], told(null, '["red","green"]'))).toEqual([1, 3]);
      expect(await ids(tables[1], told(null, '[]'))).toEqual([]);
      expect(await ids(tables[1], told(null, null))).toEqual([]);
    });
  });
}
