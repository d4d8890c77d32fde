import { expect, test } from 'bun:test';
import { dialectNamed } from '#core/engines/index.ts';
import { writeTarget } from '#core/lib/sql/write-target.ts';
import { type Dialect, parseSql } from '#test/support/sql.ts';

const targetOf = (sql: string, dialect: Dialect) =>
  writeTarget(parseSql(sql, dialect, [{ name: 'a', type: 'string' }]), dialectNamed(dialect));

test.each<[string, string | null]>([
  ['delete from notes where id = :a', 'DELETE FROM notes'],
  ['DELETE FROM ONLY "Shop"."Notes" n WHERE n.id = :a', 'DELETE FROM ONLY "Shop"."Notes"'],
  ['-- update the list of a customer\nDELETE FROM customers WHERE id = :a', 'DELETE FROM customers'],
  ["delete /* insert into x */ from notes where text = 'update notes set a'", 'DELETE FROM notes'],
  ['with c as (select id from jobs for update skip locked) delete from jobs using c where c.id = jobs.id', 'DELETE FROM jobs'],
  ['with a (x) as materialized (select 1), b as (select 2) update t as u set x = 1 from a', 'UPDATE t'],
  ['insert into t (a) values (:a) on conflict (a) do update set a = excluded.a', 'INSERT INTO t'],
  ['insert into t (a) values (lower(replace(:a, 1, 2)))', 'INSERT INTO t'],
  ['merge into t using s on t.id = s.id when matched then update set a = 1', 'MERGE INTO t'],
  ['update t set a = 1 [[, b = :a]]', 'UPDATE t'],
  ['delete from [[old, :a]] t', null],
  ['update [[only :a]] t set a = 1', null],
  [
    'with gone as (delete from notes returning id) insert into audits select 1 from gone',
    'DELETE FROM notes and INSERT INTO audits',
  ],
  ['with gone as (delete from notes returning id) select * from gone', 'DELETE FROM notes'],
  ['with gone as (call wipe()) select * from gone', null],
  ['select wipe()', null],
  ['call wipe()', null],
])('PostgreSQL: %s: %p', (sql, target) => expect(targetOf(sql, 'postgresql')).toBe(target));

test.each<[string, string | null]>([
  ['insert ignore into t (a) values (1) on duplicate key update a = 2', 'INSERT IGNORE INTO t'],
  ['replace low_priority into `my db`.t values (1)', 'REPLACE LOW_PRIORITY INTO `my db`.t'],
  ['update low_priority ignore t set a = 1', 'UPDATE LOW_PRIORITY IGNORE t'],
  ['# delete from x\nupdate t set a = 1', 'UPDATE t'],
  ['update a, b set a.x = b.x', null],
  ['update a join b on a.id = b.id set a.x = 1', null],
  ['delete a, b from a join b on a.id = b.id', null],
  ['delete from a, b using a join b on a.id = b.id', null],
  ['delete quick from a where x = 1', 'DELETE QUICK FROM a'],
])('MySQL: %s: %p', (sql, target) => expect(targetOf(sql, 'mysql')).toBe(target));

test.each<[string, string | null]>([
  ['insert or replace into t values (1)', 'INSERT OR REPLACE INTO t'],
  ['update or fail [my table] set a = 1', 'UPDATE OR FAIL [my table]'],
  ["delete from 'notes'", null],
])('SQLite: %s: %p', (sql, target) => expect(targetOf(sql, 'sqlite')).toBe(target));
