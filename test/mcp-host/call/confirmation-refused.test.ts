import { describe, expect, test } from 'bun:test';
import { snapshotOf, textOf } from '../support.ts';
import { ask, askingHost, type Kind, KINDS, questionIn, writingTool, type WrittenDatabase, yes } from './confirmation-support.ts';

const at = askingHost();
let database: WrittenDatabase;

const is_up = (kind: Kind): boolean => KINDS.some((one) => one.kind === kind && one.up) || process.env['CI'] === 'true';
const prepare = (kind: Kind) => at.database(kind, (made) => (database = made));
/** Deploys one tool that asks, and calls it. */
async function called(sql: string, args: Record<string, unknown> = {}) {
  const tools = [writingTool(database.connection, 'change', { sql, confirm: 'always' })];
  await at.control.deploy(snapshotOf(1, { connections: [database.connection], tools }));
  return (more: Record<string, unknown> = {}) => ask(at.mcp, 'change', { arguments: args, more });
}
async function refusal(sql: string): Promise<string> {
  const answer = await (await called(sql))();
  expect([sql, answer.body.result?.['isError']]).toEqual([sql, true]);
  return textOf(answer);
}
const count = async (table: string) => (await database.run(`select * from ${table}`)).length;

describe.skipIf(!is_up('postgresql'))('on PostgreSQL', () => {
  prepare('postgresql');

  test('what a commit would refuse is refused before anybody is asked', async () => {
    await database.run('create table children (id int, parent int references orders(id) deferrable initially deferred)');
    await database.run('insert into children values (1, 1)');
    expect(await refusal('update children set parent = 99')).toContain('children');
    expect((await database.run('select parent from children'))[0]).toEqual({ parent: 1 });
  });

  test('what deferred triggers write is counted', async () => {
    await database.run(
      'create constraint trigger late after delete on orders deferrable initially deferred for each row execute function note_gone()',
    );
    const call = await called("delete from orders where state = 'new'");
    const { message, state } = questionIn(await call());
    expect(message).toContain('would change 2 rows (1 directly, 1 through');
    expect((await call(yes(state))).body.result).toMatchObject({ resultType: 'complete' });
    expect([await count('orders'), await count('audits')]).toEqual([3, 1]);
  });

  test('rows of functions and of WITH are counted, and a statement that truncates is refused', async () => {
    await database.run(
      'create function clear_notes() returns int language plpgsql as $$ begin delete from notes; return 1; end $$',
    );
    expect(questionIn(await (await called('select clear_notes()'))()).message).toContain('would change 4 rows.');
    const both =
      "with gone as (delete from notes returning id), added as (insert into audits select 'x' from gone) select count(*) from gone";
    expect(questionIn(await (await called(both))()).message).toContain(
      'would change 6 rows with DELETE FROM notes and INSERT INTO audits.',
    );
    await database.run('create function wipe() returns int language plpgsql as $$ begin truncate items; return 1; end $$');
    expect(await refusal('select wipe()')).toContain('truncates a table');
    await database.run(
      'create function define() returns int language plpgsql as $$ begin create table n (i int); return 1; end $$',
    );
    expect(await refusal('select define()')).toContain('changes definitions');
    expect([await count('notes'), await count('items')]).toEqual([2, 3]);
  });

  test('nothing is tried where changed rows are not counted', async () => {
    await database.run('create foreign data wrapper w');
    await database.run('create server s foreign data wrapper w');
    await database.run('create foreign table far (id int) server s');
    expect(await refusal('delete from notes')).toContain('foreign tables');
    await database.run('drop foreign data wrapper w cascade');
    const [{ current_database: name } = {}] = await database.run('select current_database()');
    await database.run(`alter database ${String(name)} set track_counts = off`);
    await database.run(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
    expect(await refusal('delete from notes where id > 0')).toContain('track_counts');
    expect(await count('notes')).toBe(2);
  });
});

describe.skipIf(!is_up('mysql'))('on MariaDB', () => {
  prepare('mysql');

  test.each(['MyISAM', 'Aria'])('nothing is tried where a table of %s would keep what is rolled back', async (engine) => {
    await database.run(`create table kept (id int) engine = ${engine}`);
    await database.run('insert into kept values (1)');
    expect(await refusal('delete from kept')).toContain(`uses ${engine}`);
    await database.run('create view seen_kept as select * from kept');
    await database.run('create function clear_kept() returns int begin delete from kept; return 1; end');
    await database.run('create trigger keeps after delete on audits for each row insert into kept values (2)');
    for (const text of ['delete from seen_kept', 'update notes set id = clear_kept()', "delete from audits where action = 'x'"])
      expect(await refusal(text)).toContain('the table kept, which uses');
    expect(await count('kept')).toBe(1);
    // Nothing of what deletes notes reaches it.
    expect(questionIn(await (await called('delete from items'))()).message).toContain('would change');
  });

  test('a table of another schema counts only where the statement names it, and its schema is not told', async () => {
    const elsewhere = `${database.connection.database}_else`;
    await database.run(`create database ${elsewhere}`);
    await database.run(`create table ${elsewhere}.plain (id int) engine = MyISAM`);
    const { username } = database.connection;
    await database.run(`grant all on ${elsewhere}.* to '${username}'@'%'`);
    expect(questionIn(await (await called('delete from items where id > 0'))()).message).toContain('would change');
    const refused = await refusal(`delete from ${elsewhere}.plain`);
    expect(refused).toContain('the table plain, which uses MyISAM');
    expect(refused).not.toContain(elsewhere);
    await database.run(`drop database ${elsewhere}`);
  });

  test('a cascade is found behind a trigger and a view', async () => {
    await database.run('create view old_orders as select * from orders');
    expect(await refusal('delete from old_orders')).toContain('whose rows the server does not count');
    await database.run('create trigger more after insert on audits for each row delete from orders where id = 1');
    expect(await refusal("insert into audits values ('x')")).toContain('whose rows the server does not count');
    // Deleting notes writes audits, whose trigger deletes orders, whose deletes cascade.
    expect(await refusal('delete from notes')).toContain('whose rows the server does not count');
    expect([await count('orders'), await count('audits')]).toEqual([4, 0]);
  });

  test('an account that does not see triggers is refused, and one that does is asked', async () => {
    const { username, database: schema } = database.connection;
    const right = (sql: string) => database.run(`${sql} '${username}'@'%'`);
    const asks = "update orders set state = 'x' where state = 'new'";
    await right(`revoke trigger on ${schema}.* from`);
    expect(await refusal(asks)).toContain(`Grant it TRIGGER on ${schema}.`);
    expect(await database.run("select count(*) as n from orders where state = 'new'")).toEqual([{ n: 1 }]);
    await right(`grant trigger on \`${schema?.replaceAll('_', String.raw`\_`)}\`.* to`);
  });

  test('rows that are matched and not changed do not count', async () => {
    const same = await (await called('update notes set text = text where id = 1'))();
    expect(same.body.result).toMatchObject({ resultType: 'complete' });
  });
});

describe('on SQLite', () => {
  prepare('sqlite');

  test('a statement, a trigger or a table that replaces rows is refused', async () => {
    expect(await refusal("replace into notes values (1, 'x')")).toContain('REPLACE');
    expect(await refusal("insert or replace into notes values (1, 'x')")).toContain('REPLACE');
    await database.run("create trigger again after insert on audits begin insert or replace into notes values (1, 'y'); end");
    expect(await refusal("insert into audits values ('x')")).toContain('trigger again');
    expect(await database.run('select text from notes where id = 1')).toEqual([{ text: 'a' }]);
  });

  test('a replace in the text of a value is no REPLACE', async () => {
    expect(questionIn(await (await called("update notes set text = replace(text, 'a', 'z')"))()).message).toContain(
      'would change 2 rows',
    );
  });
});
