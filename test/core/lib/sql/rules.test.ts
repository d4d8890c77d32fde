import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import postgres from 'postgres';
import { MYSQL_RULES } from '#core/engines/mysql/sql/rules.ts';
import {
  FORBIDDEN_FUNCTIONS,
  SAFE_FUNCTIONS,
  SAFE_OPERATORS,
  SAFE_TYPES,
  UNSETTLED_FUNCTIONS,
  WRITING_FUNCTIONS,
} from '#core/engines/postgresql/sql/rules.ts';
import { SQLITE_RULES } from '#core/engines/sqlite/rules.ts';
import { describeWith } from './reachable.ts';

/** Volatile by PostgreSQL's book because their result changes; they change nothing. */
const HARMLESS = new Set(
  `array_sample array_shuffle clock_timestamp gen_random_uuid pg_database_size pg_indexes_size pg_is_in_recovery pg_relation_size
   pg_table_size pg_total_relation_size random random_normal timeofday uuidv4 uuidv7`.split(/\s+/),
);

test('no function is both safe and denied', () => {
  for (const name of SAFE_FUNCTIONS) {
    expect([name, FORBIDDEN_FUNCTIONS.has(name) || WRITING_FUNCTIONS.has(name) || UNSETTLED_FUNCTIONS.has(name)]).toEqual([
      name,
      false,
    ]);
  }
  for (const { functions, forbiddenFunctions, writingFunctions, runsSql } of [MYSQL_RULES, SQLITE_RULES]) {
    const denied = [...forbiddenFunctions.keys(), ...writingFunctions.keys(), ...runsSql];
    expect(denied.filter((name) => functions.has(name))).toEqual([]);
  }
});

const port = Number(process.env['TEST_POSTGRES_PORT'] ?? 5432);

await describeWith('PostgreSQL', port, () => {
  const sql = postgres(`postgres://postgres@127.0.0.1:${port}/postgres`, { max: 1 });
  afterAll(() => sql.end());

  test('every function of the closed list is stable, immutable or known to be harmless', async () => {
    const rows = await sql<{ proname: string }[]>`
      select distinct proname from pg_proc where pronamespace = 'pg_catalog'::regnamespace and provolatile = 'v'
        and proname in ${sql([...SAFE_FUNCTIONS])}`;
    expect(rows.map(({ proname }) => proname).filter((name) => !HARMLESS.has(name))).toEqual([]);
  });
  test('every volatile function that SQL can call is safe, unsettled or denied', async () => {
    const rows = await sql<{ proname: string }[]>`
      select distinct proname from pg_proc where pronamespace = 'pg_catalog'::regnamespace and provolatile = 'v'
        and not proargtypes::oid[] && array['internal', 'cstring', 'language_handler']::regtype[]::oid[]
        and prorettype not in ('trigger'::regtype, 'event_trigger'::regtype, 'internal'::regtype, 'language_handler'::regtype)
        and prolang in (select oid from pg_language where lanname in ('internal', 'c', 'sql'))`;
    const unknown = rows
      .map(({ proname }) => proname)
      .filter((name) => !SAFE_FUNCTIONS.has(name) && !UNSETTLED_FUNCTIONS.has(name) && !FORBIDDEN_FUNCTIONS.has(name))
      .filter((name) => !WRITING_FUNCTIONS.has(name) && !/^binary_upgrade_|^plpgsql_/.test(name));
    expect(unknown).toEqual([]);
  });
  test('every operator and type of the closed lists is a built-in', async () => {
    const operators = await sql<
      { oprname: string }[]
    >`select distinct oprname from pg_operator where oprnamespace = 'pg_catalog'::regnamespace`;
    const types = await sql<{ typname: string }[]>`select typname from pg_type where typnamespace = 'pg_catalog'::regnamespace`;
    const built = new Set(operators.map(({ oprname }) => oprname));
    const known = new Set(types.map(({ typname }) => typname));
    // != is read as <>, and !! (tsquery) and the rest are the server's own.
    expect([...SAFE_OPERATORS].filter((name) => !built.has(name) && name !== '!=')).toEqual([]);
    expect([...SAFE_TYPES].filter((name) => !known.has(name))).toEqual([]);
  });
});

test('every function of SQLite here is safe, denied or known not to be settled', () => {
  const db = new Database(':memory:');
  const rows = db.query('select distinct name from pragma_function_list').all() as { name: string }[];
  db.close();
  const { functions, forbiddenFunctions, writingFunctions } = SQLITE_RULES;
  const unknown = rows
    .map(({ name }) => name)
    .filter((name) => !functions.has(name) && !forbiddenFunctions.has(name) && !writingFunctions.has(name));
  // Debugging aids of the extensions, and the operators in the guise of functions.
  expect(unknown.filter((name) => !/^(->>?|rtree|geopoly_|fts5|subtype)/.test(name))).toEqual([]);
});
