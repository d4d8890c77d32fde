import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';

/** Tests of tools that write, on servers: nothing of a run stays, and what could not be taken back is never run. */
const ENGINES = [
  {
    engine: 'postgresql',
    there: reachable.postgres,
    change: 'update orders set total = total + :by where id = :id returning total',
  },
  { engine: 'mysql', there: reachable.mysql, change: 'update orders set total = total + :by where id = :id' },
] as const;

for (const { engine, there, change } of ENGINES) {
  describe.skipIf(!there)(engine, () => {
    let t: TestApp;
    let database: TestDatabase;
    let connection_id: string;
    const api = async (method: string, path: string, body?: object) => {
      const answer = await t.request(method, `/api/v1${path}`, body === undefined ? {} : { body });
      if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
      return answer.body;
    };
    const integers = (...names: string[]) => names.map((name) => ({ name, type: 'integer' }));
    const tool = async (name: string, sql_query: string, parameters: object[] = []): Promise<string> =>
      String(
        (await api('POST', '/tools', { connection_id, name, description: name, sql_query, parameters, read_only: false })).id,
      );
    /** Status and sentences of a test that is run once. */
    const judged = async (id: string, args: object, expected: object) => {
      const body = { owner: { kind: 'tool', id }, name: 'once', arguments: args, expect: expected };
      const { id: made } = await api('POST', '/tests', body);
      const { results } = await api('POST', '/tests/run', { ids: [made] });
      await api('DELETE', `/tests/${String(made)}`);
      const [result] = results as { status: string; failures: string[] }[];
      return [result?.status, result?.failures.join(' ')];
    };
    const stored = async () => JSON.stringify([...(await database.run('select id, total from orders order by id'))]);

    beforeAll(async () => {
      database = await testDatabase(engine);
      t = await testApp();
      await t.signIn();
      const { host, port, database: name, username } = database.settings;
      const draft = {
        name: 'shop',
        db_type: engine,
        host,
        port,
        database: name,
        username,
        ssl_mode: 'disable',
        read_only: false,
      };
      connection_id = String((await api('POST', '/connections', draft)).id);
      await database.run('create table orders (id integer primary key, total integer not null, check (total < 1000))');
      await database.run('insert into orders values (1, 10), (2, 20)');
      await database.run('create table audit (id integer)');
    }, 60_000);
    afterAll(async () => {
      await t?.close();
      await database?.drop();
    });

    test('a change passes or fails as it would, and is taken back', async () => {
      const before = await stored();
      const raise = await tool('raise', change, integers('by', 'id'));
      expect(await judged(raise, { by: 5, id: 1 }, {})).toEqual(['passed', '']);
      if (engine === 'postgresql') {
        expect(await judged(raise, { by: 5, id: 1 }, { contains: [{ total: 15 }] })).toEqual(['passed', '']);
        expect(await judged(raise, { by: 5, id: 1 }, { contains: [{ total: 16 }] })).toEqual([
          'failed',
          'No row has {"total":16}.',
        ]);
      }
      const [status, sentence] = await judged(raise, { by: 5_000, id: 1 }, {});
      expect([status, sentence?.startsWith('The call failed: ')]).toEqual(['failed', true]);
      expect(await judged(raise, { by: 5_000, id: 1 }, { error: true })).toEqual(['passed', '']);
      expect(await stored()).toBe(before);
    });

    if (engine === 'postgresql') {
      test('what the database quotes of a masked column is not said', async () => {
        const draft = { connection_id, name: 'quoting', description: 'Quotes', masks: [{ column: 'total', mask: 'remove' }] };
        const sql_query = "select (total || ' pears')::int as n, total from orders where id = 1";
        const [status, sentence] = await judged(String((await api('POST', '/tools', { ...draft, sql_query })).id), {}, {});
        expect([status, sentence?.includes('can contain masked values'), sentence?.includes('10')]).toEqual([
          'failed',
          true,
          false,
        ]);
      });
    }

    test('what a trigger writes is taken back too', async () => {
      const body = engine === 'postgresql' ? 'execute function noted()' : 'insert into audit values (new.id)';
      if (engine === 'postgresql') {
        await database.run(
          "create function noted() returns trigger language plpgsql as 'begin insert into audit values (new.id); return new; end'",
        );
      }
      await database.run(`create trigger note after update on orders for each row ${body}`);
      const lower = await tool('lower', change.replace('+ :by', '- :by'), integers('by', 'id'));
      const before = await stored();
      expect(await judged(lower, { by: 1, id: 2 }, {})).toEqual(['passed', '']);
      expect([await stored(), [...(await database.run('select id from audit'))].length]).toEqual([before, 0]);
    });

    test('a change of the schema is never run, and the reason is said', async () => {
      const make = await tool('make', 'create table made (id integer)');
      expect(await judged(make, {}, {})).toEqual(['skipped', expect.stringContaining('not CREATE') as never]);
      const drop = await tool('drop_audit', 'drop table audit');
      expect(await judged(drop, {}, {})).toEqual(['skipped', expect.stringContaining('not DROP') as never]);
      expect([...(await database.run('select id from audit'))]).toEqual([]);
    });

    test('what a rollback does not undo is never run, tried or asked about', async () => {
      await database.run('create sequence if not exists numbers');
      const lasting =
        engine === 'mysql'
          ? ['insert into audit values (next value for numbers)', 'insert into audit select nextval(numbers)']
          : [
              "select setval('numbers', 900)",
              'select pg_terminate_backend(pid) from pg_stat_activity where pid = :pid',
              "insert into audit values (nextval('numbers'))",
            ];
      for (const [n, sql] of lasting.entries()) {
        const parameters = sql.includes(':pid') ? integers('pid') : [];
        const args = sql.includes(':pid') ? { pid: 1 } : {};
        const id = await tool(`lasting_${n}`, sql, parameters);
        expect(await judged(id, args, {})).toEqual([
          'skipped',
          expect.stringContaining('which a rollback does not undo') as never,
        ]);
        const tried = await t.send('preview.trial', { connection_id, sql_query: sql, parameters: args });
        expect([tried.status, tried.body.detail]).toEqual([422, expect.stringContaining('a rollback does not undo') as never]);
        for (const guard of [{ confirm: 'always' }, { max_affected_rows: 5 }]) {
          const refused = await t.send('tools.update', { id, ...guard });
          expect([refused.status, JSON.stringify(refused.body)]).toEqual([
            422,
            expect.stringContaining('does not undo') as never,
          ]);
        }
        await api('DELETE', `/tools/${id}`);
      }
      if (engine === 'postgresql')
        expect([...(await database.run('select last_value, is_called from numbers'))]).toEqual([
          { last_value: expect.anything() as never, is_called: false },
        ]);
    });

    if (engine === 'mysql') {
      test('nothing that writes runs while a table keeps what is rolled back', async () => {
        await database.run('create table log (id integer) engine = MyISAM');
        const note = await tool('note', 'insert into log values (:id)', integers('id'));
        const [status, reason] = await judged(note, { id: 1 }, {});
        expect([status, reason]).toEqual(['skipped', expect.stringContaining('can reach the table log, which uses MyISAM')]);
        expect([...(await database.run('select id from log'))]).toEqual([]);
        // A reading tool of the same connection is tested all the same.
        const reading = {
          connection_id,
          name: 'count_orders',
          description: 'Count',
          sql_query: 'select count(*) as n from orders',
        };
        const { id: count } = await api('POST', '/tools', reading);
        expect(await judged(String(count), {}, { contains: [{ n: 2 }] })).toEqual(['passed', '']);
        await database.run('alter table log engine = InnoDB');
        expect(await judged(note, { id: 1 }, {})).toEqual(['passed', '']);
        expect([...(await database.run('select id from log'))]).toEqual([]);
      });
    }
  });
}
