import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { Row } from '#core/lib/sql/result.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { FIXED, READ, refusal, sql } from '../shared/suite.ts';

/** What a caller may try when the text is its own. All run as the superuser, so nothing but the recipe stands in the way. */
const ATTACKS: readonly string[] = [
  `insert into victims values (2)`,
  `update victims set id = 2`,
  `delete from victims`,
  `truncate victims`,
  `drop table victims`,
  `alter table victims add column evil int`,
  `create table evil (id int)`,
  `create table evil as select 1`,
  `select * into evil from victims`,
  `create unlogged table evil (id int)`,
  `create function evil() returns int language sql as 'select 1'`,
  `grant all on victims to public`,
  `comment on table victims is 'evil'`,
  `select 1; drop table victims`,
  `select 1; commit; drop table victims`,
  `commit; drop table victims; begin`,
  `; drop table victims`,
  `/* select */ delete from victims`,
  `-- select\ndelete from victims`,
  `with evil as (delete from victims returning *) select * from evil`,
  `with evil as (insert into victims values (9) returning id) select id from evil`,
  `merge into victims v using (select 1) s on false when not matched then insert values (9)`,
  `explain analyze delete from victims`,
  `explain analyze create table evil as select 1`,
  `explain (analyze, verbose) insert into victims values (9)`,
  `do $$ begin delete from victims; end $$`,
  `do $$ begin commit; delete from victims; end $$`,
  `do $$ begin execute 'set transaction read write'; execute 'delete from victims'; end $$`,
  `do $$ begin perform set_config('transaction_read_only', 'off', false); delete from victims; end $$`,
  `call writes()`,
  `call commits_and_writes()`,
  `select write_somewhere()`,
  `select * from victims where write_somewhere() > 0`,
  `select nextval('counter')`,
  `select setval('counter', 1000)`,
  `select lo_create(4711)`,
  `select lo_from_bytea(4712, 'x')`,
  `copy victims from stdin`,
  `copy victims to stdout`,
  `lock table victims in access exclusive mode`,
  `select * from victims for update`,
  `prepare evil as delete from victims`,
  `declare evil cursor with hold for select 1`,
  `create temporary table victims (id int)`,
  `set transaction read write`,
  `set session characteristics as transaction read write`,
  `set default_transaction_read_only = off`,
  `set transaction_read_only = off`,
  `begin read write`,
  `start transaction read write`,
  `commit`,
  `commit and chain`,
  `rollback`,
  `rollback and chain`,
  `end`,
  `abort`,
  `savepoint evil`,
  `prepare transaction 'evil'`,
  `/* */ PREPARE -- a\n/* /* */ */ TRANSACTION 'evil'`,
  `select set_config('transaction_read_only', 'off', true)`,
  `select set_config('transaction_read_only', 'off', false)`,
  `select set_config('default_transaction_read_only', 'off', false)`,
  `select set_config('statement_timeout', '0', false), set_config('search_path', 'evil', false), set_config('role', 'pg_monitor', false)`,
  `set role pg_monitor`,
  `set session authorization pg_monitor`,
  `set search_path = evil`,
  `set timezone = 'Asia/Tokyo'`,
  `set statement_timeout = 0`,
  `reset all`,
  `discard all`,
  `deallocate all`,
  `listen evil`,
  `notify evil`,
  `select pg_notify('evil', 'x')`,
  `select pg_advisory_lock(4711)`,
  `vacuum victims`,
  `reindex table victims`,
  `create database sluice_evil`,
  `alter system set log_statement = 'none'`,
  `load 'plpgsql'`,
  ``,
  `;`,
  `-- nothing`,
];

/**
 * What no transaction mode stops: files and programs of the database server. The classifier refuses these, and an account
 * without these rights, which the connection test asks for, cannot do them at all.
 */
const BEYOND_THE_DATABASE: readonly string[] = [
  `copy victims to program 'touch /tmp/sluice_evil'`,
  `copy (select 1) to '/tmp/sluice_evil'`,
  `copy victims from program 'touch /tmp/sluice_evil'`,
  `copy victims from '/etc/passwd'`,
  `select pg_read_file('/etc/passwd')`,
  `select pg_read_binary_file('/etc/passwd')`,
  `select * from pg_ls_dir('/etc')`,
  `select lo_import('/etc/passwd')`,
  `select lo_export(1, '/tmp/sluice_evil')`,
  `select pg_reload_conf()`,
  `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'postgres'`,
];

/**
 * Text that the classifier could wrongly call fixed: the session itself refuses what changes data. But for EXPLAIN ANALYZE of
 * CREATE TABLE AS, which PostgreSQL forgets to refuse in a read-only transaction, and only the rollback of `read` undoes.
 */
const CHANGES_IN_A_FIXED_SESSION = ATTACKS.filter((text) =>
  /delete|insert|update|drop|create t|writes?|nextval|truncate/.test(text),
).filter((text) => !/do \$\$|temporary|call|commit|explain analyze create|prepare|^set|^begin|^start/.test(text));

const STATE = `
select current_setting('default_transaction_read_only') as read_only, current_setting('statement_timeout') as timeout,
  current_setting('search_path') as path, current_setting('TimeZone') as zone, current_user::text as who,
  (select count(*)::int from pg_prepared_statements where from_sql) as prepared, (select count(*)::int from pg_cursors where is_holdable) as cursors,
  (select count(*)::int from pg_listening_channels()) as channels, (select count(*)::int from pg_class where relpersistence = 't') as temporary,
  (select count(*)::int from pg_locks where pid = pg_backend_pid() and locktype in ('advisory', 'relation') and mode <> 'AccessShareLock') as locks`;

const OUTSIDE = `
select (select array_agg(id) from victims) as rows, (select last_value from counter) as counted, (select is_called from counter) as called,
  (select count(*) from pg_class where relname like '%evil%') as relations, (select count(*) from pg_proc where proname like '%evil%') as functions,
  (select count(*) from pg_attribute where attrelid = 'victims'::regclass) as attributes, (select relacl from pg_class where relname = 'victims') as acl,
  (select count(*) from pg_largeobject_metadata) as objects, (select count(*) from pg_database where datname like '%evil%') as databases,
  obj_description('victims'::regclass) as comment, (select count(*) from pg_prepared_xacts) as xacts`;

describe.skipIf(!reachable.postgres)('reading from PostgreSQL as a superuser', () => {
  let database: TestDatabase;
  let source: Source;
  let clean: Row;
  let outside: unknown;

  beforeAll(async () => {
    database = await testDatabase('postgresql');
    await database.run('create table victims (id int)');
    await database.run('insert into victims values (1)');
    await database.run('create sequence counter');
    await database.run(
      `create function write_somewhere() returns int language plpgsql as $$ begin delete from victims; return 1; end $$`,
    );
    await database.run(`create procedure writes() language plpgsql as $$ begin delete from victims; end $$`);
    await database.run(`create procedure commits_and_writes() language plpgsql as $$ begin commit; delete from victims; end $$`);
    source = openPostgres({ ...database.settings, pool_size: 1 }, localPolicy);
    clean = (await source.query(sql(STATE), READ)).rows[0]!;
    outside = await database.run(OUTSIDE);
  });

  afterAll(async () => {
    await source.close();
    await database.drop();
  });

  test('a clean session is read-only and in UTC', () => {
    expect(clean).toMatchObject({ read_only: 'on', zone: 'UTC', prepared: 0, cursors: 0, channels: 0, locks: 0, temporary: 0 });
  });

  test.each(ATTACKS)('%j changes nothing and leaves nothing behind', async (text) => {
    await source.query(sql(text), READ).catch(() => {});
    expect(await database.run(OUTSIDE)).toEqual(outside as Record<string, unknown>[]);
    expect((await source.query(sql(STATE), READ)).rows[0]).toEqual(clean);
    expect((await refusal(source.query(sql('delete from victims'), READ))).code).toBe('not_read_only');
  });

  test.each(CHANGES_IN_A_FIXED_SESSION)('%j is refused in a fixed session too', async (text) => {
    await refusal(source.query(sql(text), FIXED));
    expect(await database.run(OUTSIDE)).toEqual(outside as Record<string, unknown>[]);
  });

  test('a fixed session in which a transaction was left open is not used again', async () => {
    for (const text of ['begin read write', 'start transaction read write']) {
      await source.query(sql(text), FIXED);
      expect((await refusal(source.query(sql('delete from victims'), FIXED))).code).toBe('not_read_only');
    }
    expect(await database.run(OUTSIDE)).toEqual(outside as Record<string, unknown>[]);
  });

  test.each(BEYOND_THE_DATABASE)('%j is refused to an account that only has what it needs', async (text) => {
    const account = `sluice_reader_${database.settings.database.slice(-16)}`;
    await database.run(`create role ${account} login`);
    await database.run(`grant select on victims to ${account}`);
    const ordinary = openPostgres({ ...database.settings, username: account }, localPolicy);
    try {
      expect((await ordinary.test()).warnings.join(' ')).not.toContain('superuser');
      for (const mode of [READ, FIXED]) {
        expect(['sql_error', 'not_read_only']).toContain((await refusal(ordinary.query(sql(text), mode))).code);
      }
      expect(await Bun.file('/tmp/sluice_evil').exists()).toBe(false);
      expect((await ordinary.query(sql('select id from victims'), FIXED)).rows).toEqual([{ id: 1 }]);
    } finally {
      await ordinary.close();
      await database.run(`drop owned by ${account}`);
      await database.run(`drop role ${account}`);
    }
  });

  test('the connection test names rights that reach beyond the database', async () => {
    expect((await source.test()).warnings[0]).toContain('superuser');
    const account = `sluice_files_${database.settings.database.slice(-16)}`;
    await database.run(`create role ${account} login in role pg_read_server_files, pg_execute_server_program`);
    const able = openPostgres({ ...database.settings, username: account }, localPolicy);
    const { warnings } = await able.test();
    await able.close();
    await database.run(`drop role ${account}`);
    expect(warnings.filter((warning) => warning.includes('(pg_'))).toHaveLength(2);
  });

  test('the plans of one caller say nothing about the values of another', async () => {
    await source.query(sql('select $1::text as secret', ['hunter2'], ['string']), READ);
    const text = 'select count(*)::int as n from pg_prepared_statements';
    expect((await source.query(sql(text), READ)).rows).toEqual([{ n: 0 }]);
  });
});
