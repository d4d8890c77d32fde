import { describe, expect, test } from 'bun:test';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { RunOptions, Source } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, testDatabase } from '#test/support/databases.ts';
import { FIXED, READ, sql, WRITE } from '../shared/suite.ts';
import { until } from '#test/support/until.ts';

/**
 * What a statement only names can run code of whoever made it: a view, a policy, a shadowed operator. The statements below all
 * look as if they only read; the code behind them tries everything that a function of the database can.
 */
const ACTS: readonly string[] = [
  `perform set_config('default_transaction_read_only', 'off', false)`,
  `perform set_config('transaction_read_only', 'off', false)`,
  `set session characteristics as transaction read write`,
  `insert into victims values (2, 'two', 'sad')`,
  `delete from victims`,
  `perform nextval('counter')`,
  `perform lo_create(4711)`,
  `perform pg_notify('evil', 'x')`,
  `perform set_config('search_path', 'evil', false)`,
  `perform set_config('statement_timeout', '0', false)`,
  `perform set_config('TimeZone', 'Asia/Tokyo', false)`,
  `perform set_config('role', 'pg_monitor', false)`,
  `perform pg_try_advisory_lock(4711)`,
  `execute 'create temporary table victims (id int)'`,
  `execute 'create table evil_table (id int)'`,
  `execute 'prepare evil_statement as select 1'`,
  `execute 'declare evil_cursor cursor with hold for select 1'`,
  `execute 'listen evil'`,
  `for kept in select name from pg_prepared_statements loop
     execute format('deallocate %I', kept); execute format('prepare %I as select 666 as id', kept);
   end loop`,
];

/** Each act by itself, so that one that is refused keeps none of the others from being tried. */
const bodyOf = (acts: readonly string[]): string =>
  `declare kept text; begin ${acts.map((act) => `begin ${act}; exception when others then null; end;`).join(' ')}`;

interface Way {
  readonly name: string;
  readonly make: readonly string[];
  readonly text: string;
  /** What newer versions say instead of making it. */
  readonly refused?: string;
}

/** A server that is this one again, where nothing says that a session only reads. */
const FAR: readonly string[] = [
  'create extension if not exists postgres_fdw',
  'create view far as select id from victims where evil()',
  `do $$ begin execute format('create server back foreign data wrapper postgres_fdw options (host %L, port %L, dbname %L)', '127.0.0.1', current_setting('port'), current_database()); end $$`,
  `create user mapping for public server back options (user 'postgres', password_required 'false')`,
];

/** The ways from an innocent text to code. `evil()` answers true, after it did what it could. */
const WAYS: readonly Way[] = [
  { name: 'a view', make: ['create view seen as select id from victims where evil()'], text: 'select id from seen' },
  {
    name: 'a view behind a view',
    make: [
      'create view inner_seen as select id, evil() as e from victims',
      'create view outer_seen as select id from inner_seen where e',
    ],
    text: 'select id from outer_seen',
  },
  {
    name: 'a view over a function with the rights of its owner',
    make: [
      `create function definer() returns boolean language plpgsql security definer as $f$ ${bodyOf(ACTS)} return true; end $f$`,
      'create view defined as select id from victims where definer()',
    ],
    text: 'select id from defined',
  },
  {
    name: 'a row-level policy',
    make: [
      'create table secured as select 1 as id',
      'alter table secured enable row level security',
      'create policy p on secured using (evil())',
    ],
    text: 'select id from secured',
  },
  {
    name: 'a function that shadows a built-in',
    make: ['create function lower(varchar) returns text language plpgsql as $f$ begin perform evil(); return $1; end $f$'],
    text: 'select id from victims where lower(name) is not null',
  },
  {
    name: 'an aggregate that shadows a built-in',
    make: [
      'create function evil_step(text, varchar) returns text language plpgsql as $f$ begin perform evil(); return $2; end $f$',
      'create aggregate max(varchar) (sfunc = evil_step, stype = text)',
    ],
    text: 'select max(name) as id from victims',
  },
  {
    name: 'an operator that shadows a built-in',
    make: [
      'create function evil_equal(varchar, varchar) returns boolean language plpgsql as $f$ begin return evil(); end $f$',
      'create operator = (leftarg = varchar, rightarg = varchar, procedure = evil_equal)',
    ],
    text: 'select a.id from victims a join victims b using (name)',
  },
  {
    name: 'an operator behind a keyword',
    make: [
      'create function evil_like(varchar, varchar) returns boolean language plpgsql as $f$ begin return evil(); end $f$',
      'create operator ~~ (leftarg = varchar, rightarg = varchar, procedure = evil_like)',
    ],
    text: 'select id from victims where name like name',
  },
  {
    name: 'a cast of its own type',
    make: [
      'create function evil_cast(mood) returns text language plpgsql as $f$ begin perform evil(); return null; end $f$',
      'create cast (mood as text) with function evil_cast(mood) as assignment',
    ],
    text: 'select id, feels::text as feels from victims',
  },
  {
    name: 'a domain',
    make: [
      'create domain checked as int check (evil())',
      'create table of_domain (id checked)',
      'insert into of_domain values (1)',
    ],
    text: 'select coalesce(id, 5) as id from of_domain where id = any(array[1, 2])',
  },
  {
    name: 'a generated column',
    make: [
      'create table generating (id int, twice boolean generated always as (evil_immutable(id)) stored)',
      'insert into generating values (1)',
    ],
    text: 'select id, twice from generating',
  },
  {
    name: 'an index over an expression',
    make: [
      'create table indexed (id int)',
      'insert into indexed values (1)',
      'create index on indexed ((evil_immutable(7)), id) where evil_immutable(8)',
    ],
    text: 'select id from indexed where id = 1',
  },
  {
    name: 'a check that the planner looks at',
    make: ['create table constrained (id int check (evil_immutable(7) or id > 0))', 'insert into constrained values (1)'],
    text: 'select id from constrained where id = 1',
  },
  {
    name: 'a rule that makes a table a view',
    make: [
      'create table ruled (id int)',
      'create rule "_RETURN" as on select to ruled do instead select id from victims where evil()',
    ],
    text: 'select id from ruled',
    refused: 'cannot have ON SELECT rules',
  },
  {
    name: 'a trigger',
    make: [
      'create table triggered (id int)',
      'create function evil_trigger() returns trigger language plpgsql as $f$ begin perform evil(); return new; end $f$',
      'create trigger t before insert on triggered for each row execute function evil_trigger()',
    ],
    text: 'insert into triggered values (1) returning id',
  },
  {
    name: 'a foreign table whose other side is a view',
    make: [...FAR, `create foreign table near (id int) server back options (table_name 'far')`],
    text: 'select id from near',
  },
  {
    name: 'a schema in front of the search path',
    make: [
      'create schema ahead',
      'create view ahead.plain as select id from public.victims where public.evil()',
      'create table public.plain as select 1 as id',
      'grant usage on schema ahead to $role',
      'grant select on ahead.plain to $role',
      'alter role $role set search_path = ahead, public',
    ],
    text: 'select id from plain',
  },
  {
    name: 'a partition that is a foreign table of a view',
    make: [
      ...FAR,
      'create table parted (id int) partition by list (id)',
      `create foreign table part partition of parted for values in (1) server back options (table_name 'far')`,
    ],
    text: 'select id from parted',
  },
];

const STATE = `
select current_setting('default_transaction_read_only') as read_only, current_setting('statement_timeout') as timeout,
  current_setting('search_path') as path, current_setting('TimeZone') as zone, current_user::text as who,
  (select count(*)::int from pg_catalog.pg_prepared_statements where from_sql) as prepared,
  (select count(*)::int from pg_catalog.pg_cursors where is_holdable) as cursors,
  (select count(*)::int from pg_catalog.pg_locks where pid = pg_backend_pid() and locktype = 'advisory') as locks,
  (select count(*)::int from pg_catalog.pg_class where relpersistence = 't') as temporary`;
/** Kept prepared by a shared session; re-prepared, it would answer another number. */
const KEPT = 'select 1 as id';

const OUTSIDE = `
select (select array_agg(id order by id) from victims) as rows, (select last_value from counter) as counted, (select is_called from counter) as called,
  (select count(*) from pg_class where relname like 'evil%') as relations, (select count(*) from pg_largeobject_metadata) as objects,
  (select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())) as locks`;

/** What every way is made in: a role with all rights to the data, and none beyond. */
const GROUND: readonly string[] = [
  `create role $role login`,
  `grant all on schema public to $role`,
  `create type mood as enum ('ok', 'sad')`,
  `create table victims (id int, name varchar, feels mood)`,
  `insert into victims values (1, 'one', 'ok')`,
  `create sequence counter`,
  `create function evil() returns boolean language plpgsql as $f$ ${bodyOf(ACTS)} return true; end $f$`,
  `create function evil_immutable(int) returns boolean language plpgsql immutable as $f$ begin return public.evil(); end $f$`,
];

/** Making the ways runs some of the code, as the superuser: that is not the matter here. */
const TIDY: readonly string[] = [
  'discard all',
  `delete from victims; insert into victims values (1, 'one', 'ok')`,
  'select lo_unlink(oid) from pg_largeobject_metadata',
  'drop table if exists evil_table',
  'grant all on all tables in schema public to $role; grant all on all sequences in schema public to $role',
];

interface Arena {
  readonly source: Source;
  readonly run: (texts: readonly string[]) => Promise<void>;
  readonly outside: () => Promise<Record<string, unknown>>;
  /** What the next caller sees. */
  readonly seen: (options: RunOptions) => Promise<unknown>;
  readonly attack: (text: string, options: RunOptions) => Promise<unknown>;
}

async function inArena(texts: readonly string[], work: (arena: Arena) => Promise<void>): Promise<void> {
  const database = await testDatabase('postgresql');
  const role = `sluice_ordinary_${database.settings.database.slice(-16)}`;
  const source = openPostgres({ ...database.settings, username: role, pool_size: 1 }, localPolicy);
  const run = async (more: readonly string[]): Promise<void> => {
    for (const text of more) await database.run(text.replaceAll('$role', role));
  };
  try {
    await run([...GROUND, ...texts, ...TIDY]);
    await work({
      source,
      run,
      async outside() {
        let found: Record<string, unknown> = {};
        // The session on the other side of a foreign table ends a moment after ours, and its locks with it.
        await until(async () => {
          found = (await database.run(OUTSIDE))[0] ?? {};
          return found['locks'] === '0';
        });
        return found;
      },
      seen: async (options) => [(await source.query(sql(STATE), options)).rows, (await source.query(sql(KEPT), options)).rows],
      attack: (text, options) => source.query(sql(text), options).catch(() => null),
    });
  } finally {
    await source.close();
    await database.run(`drop owned by ${role}`);
    await database.run(`drop role ${role}`);
    await database.drop();
  }
}

describe.skipIf(!reachable.postgres)('code behind the names in a statement, on PostgreSQL', () => {
  for (const { name, make, text, refused } of WAYS) {
    test(
      `${name}: nothing is written, and nothing is left for the next caller`,
      () =>
        inArena(make, async ({ outside, seen, attack, run }) => {
          for (const options of [FIXED, READ]) {
            const [before, state] = [await outside(), await seen(options)];
            for (let round = 0; round < 3; round++) {
              await attack(text, options);
              await attack('insert into victims values (3, null, null)', options);
              expect([name, options.mode, await outside()]).toEqual([name, options.mode, before]);
              expect([name, options.mode, await seen(options)]).toEqual([name, options.mode, state]);
            }
          }
          const state = await seen(WRITE);
          await attack(text, WRITE);
          await run(TIDY.slice(1));
          expect(await seen(WRITE)).toEqual(state);
          expect(await outside()).toMatchObject({ locks: '0' });
        }).catch((error: unknown) => {
          if (refused === undefined || !String(error).includes(refused)) throw error;
        }),
      30_000,
    );
  }

  test(
    'a table that becomes a view after the check of its statement writes nothing, and its session ends',
    () =>
      inArena(['create table turned as select 1 as id'], async ({ source, outside, seen, attack, run }) => {
        const text = 'select id from turned';
        const [before, state] = [await outside(), await seen(FIXED)];
        for (let n = 0; n < 5; n++) expect((await source.query(sql(text), FIXED)).rows).toEqual([{ id: 1 }]);
        await run(['drop table turned', 'create view turned as select id from victims where evil()', ...TIDY]);
        // Behind each other on one session, too: the first may replace what the others were prepared as.
        for (let n = 0; n < 5; n++) {
          const slots = Array.from({ length: 6 }, () => source.pipelineSlot?.(sql(text), 1) ?? null);
          await Promise.allSettled(slots.map(async (slot) => slot?.query(FIXED)));
          await attack(text, FIXED);
        }
        const { locks: _, ...written } = before;
        expect(await outside()).toMatchObject(written);
        await until(async () => Bun.deepEquals(await seen(FIXED), state) && Bun.deepEquals(await outside(), before));
      }),
    30_000,
  );
});
