import { AppError } from '#core/errors.ts';
import { textOf } from '../shared/rows.ts';
import type { Changes } from '#core/engines/shared/source.ts';
import type { Row } from '#core/lib/sql/result.ts';
import { grantCovers, type Grant } from './grants.ts';
import type { MysqlSession } from './session.ts';

/**
 * Starts to count the changed rows of a session. @returns a function that takes the rows the statement reports and returns the
 * count.
 */
export async function openCounter(
  session: MysqlSession,
  stop: AbortSignal,
): Promise<(direct: number | null) => Promise<Changes>> {
  const first = await session.rowsTouched(stop);
  const before = await session.rowsTouched(stop);
  // MySQL stores the status rows in a temporary table, and counts those too.
  const status_rows = before - first;
  return async (direct) => {
    const all = (await session.rowsTouched(stop)) - before - status_rows;
    if (Number.isSafeInteger(all) && all >= 0) return { direct: direct === null ? null : Math.min(direct, all), all };
    throw new AppError('not_countable', 'The statement was rolled back: the server did not count every row that it changes.');
  };
}

/** Foreign keys with cascades. InnoDB runs these internally, so no session counter includes their rows. */
export const CASCADES = `
  SELECT DISTINCT unique_constraint_schema AS \`schema\`, referenced_table_name AS target, table_name AS name
  FROM information_schema.referential_constraints
  WHERE delete_rule NOT IN ('RESTRICT', 'NO ACTION') OR update_rule NOT IN ('RESTRICT', 'NO ACTION')`;

/** Tables without transactions: a rollback does not undo what is written to them. */
export const LASTING_TABLES = `
  SELECT t.table_schema AS \`schema\`, t.table_name AS name, t.engine AS engine
  FROM information_schema.tables AS t LEFT JOIN information_schema.engines AS e ON e.engine = t.engine
  WHERE t.table_type = 'BASE TABLE' AND coalesce(e.transactions, 'NO') <> 'YES'
    AND t.table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')`;

/**
 * Code that runs when a statement uses a name: triggers of a table, functions, views. A null text means that this account cannot
 * read it.
 */
export const RUN_BY_NAME = `
  SELECT event_object_schema AS \`schema\`, event_object_table AS name, action_statement AS text FROM information_schema.triggers
  UNION ALL SELECT routine_schema, routine_name, routine_definition FROM information_schema.routines
    WHERE routine_schema NOT IN ('sys', 'mysql')
  UNION ALL SELECT table_schema, table_name, view_definition FROM information_schema.views WHERE table_schema NOT IN ('sys', 'mysql')`;

const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(/[\p{L}\p{N}_$]+/gu) ?? [];

/** Schemas that the account sees. It only sees their triggers with the TRIGGER privilege. */
export const SCHEMAS = "SELECT schema_name AS name FROM information_schema.schemata WHERE schema_name <> 'information_schema'";

/** Whether an account with these grants sees the triggers of a schema. Without the privilege none are listed. */
export function seesTriggers(grants: readonly Grant[]): (schema: string) => boolean {
  const wide = grants.filter(
    ({ rights, table }) => table === '*' && (rights.includes('ALL PRIVILEGES') || rights.includes('TRIGGER')),
  );
  return (schema) => wide.some(({ database }) => database === '*' || grantCovers(database, schema));
}

/** Everything that a statement can reach. */
export interface Surroundings {
  readonly run_by_name: readonly Row[];
  readonly schemas: readonly string[];
  /** The schema of unqualified names. */
  readonly default_schema: string;
}

interface Reach {
  /** Whether the statement may reach a table or a routine, directly or through other objects. */
  readonly has: (named: Row) => boolean;
  readonly schemas: readonly string[];
  /** The name of a reached object whose text this account cannot read. Null: there is none. */
  readonly unread: string | null;
}

/** Follows every word of each text as a name in each schema that is mentioned. It may find too much, but misses nothing. */
export function reachOf(text: string, { run_by_name, schemas, default_schema }: Surroundings): Reach {
  const words = new Set(wordsOf(text));
  const isNamed = (name: string): boolean => wordsOf(name).every((word) => words.has(word));
  const isSchemaReached = (schema: string): boolean => schema.toLowerCase() === default_schema.toLowerCase() || isNamed(schema);
  const has = ({ schema, name }: Row): boolean => isNamed(textOf(name)) && isSchemaReached(textOf(schema));
  const runs = new Map<string, Row[]>();
  for (const row of run_by_name) {
    for (const word of new Set([...wordsOf(textOf(row['name'])), ...wordsOf(textOf(row['schema']))])) {
      const known = runs.get(word);
      if (known === undefined) runs.set(word, [row]);
      else known.push(row);
    }
  }
  const ran = new Set<Row>();
  let unread: string | null = null;
  // The loop also visits the words that it adds.
  for (const word of words) {
    for (const row of runs.get(word) ?? []) {
      if (ran.has(row) || !has(row)) continue;
      ran.add(row);
      const { name, text: body } = row;
      if (body === null) unread ??= textOf(name);
      else for (const next of wordsOf(textOf(body))) words.add(next);
    }
  }
  return { has, schemas: schemas.filter(isSchemaReached), unread };
}

/** Why the writes of a statement cannot all be rolled back. Callers read this sentence too, so it contains no schema. */
export function lastingTable({ has, unread }: Reach, tables: readonly Row[]): string | null {
  if (tables.length === 0) return null;
  const found = tables.find(has);
  if (found !== undefined) {
    const { name, engine } = found;
    return `This statement can reach the table ${textOf(name)}, which uses ${textOf(engine)} and cannot be rolled back. Convert it to InnoDB first.`;
  }
  return unread === null
    ? null
    : `What ${unread} runs cannot be read by this account, so it may write to a table that cannot be rolled back.`;
}

/**
 * Why the changed rows of a statement cannot all be counted: it reaches a table with cascades, directly or through other objects,
 * or a schema whose triggers the account cannot see.
 */
export function uncountedCascade(
  { has, schemas, unread }: Reach,
  its: {
    readonly cascades: readonly Row[];
    readonly default_schema: string;
    readonly seesTriggers: (schema: string) => boolean;
  },
): string | null {
  if (unread !== null)
    return `What ${unread} runs cannot be read by this account, so the rows that it changes cannot be counted.`;
  const hidden = schemas.find((schema) => !its.seesTriggers(schema));
  if (hidden !== undefined) {
    const named = hidden === its.default_schema ? hidden : 'another schema that the statement reaches';
    return `This account does not see the triggers of ${named}, so the rows that they change cannot be counted. Grant it TRIGGER on ${hidden === named ? hidden : 'it'}.`;
  }
  const found = its.cascades.find(({ schema = null, target = null }) => has({ schema, name: target }));
  if (found === undefined) return null;
  const { target, name } = found;
  return `${textOf(target)} has cascades to ${textOf(name)}, whose rows the server does not count. Change the rows of ${textOf(name)} in a statement of its own, and let the foreign key restrict.`;
}
