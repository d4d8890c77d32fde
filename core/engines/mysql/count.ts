import { AppError } from '#core/errors.ts';
import { textOf } from '../shared/rows.ts';
import type { Changes, Row } from '../shared/source.ts';
import { grantCovers, type Grant } from './grants.ts';
import type { MysqlSession } from './session.ts';

/** Counts what runs in the session from now on. @returns what answers the count, given the rows that the statement says it changed. */
export async function openCounter(
  session: MysqlSession,
  stop: AbortSignal,
): Promise<(direct: number | null) => Promise<Changes>> {
  const first = await session.rowsTouched(stop);
  const before = await session.rowsTouched(stop);
  // MySQL collects the answer in a table of its own, whose rows count.
  const own = before - first;
  return async (direct) => {
    const all = (await session.rowsTouched(stop)) - before - own;
    if (Number.isSafeInteger(all) && all >= 0) return { direct: direct === null ? null : Math.min(direct, all), all };
    throw new AppError('not_countable', 'The statement was rolled back: the server did not count every row that it changes.');
  };
}

/** Foreign keys whose cascades InnoDB runs by itself: no counter of a session has their rows. */
export const CASCADES = `
  SELECT DISTINCT referenced_table_name AS target, table_name AS name
  FROM information_schema.referential_constraints
  WHERE delete_rule NOT IN ('RESTRICT', 'NO ACTION') OR update_rule NOT IN ('RESTRICT', 'NO ACTION')`;

/** What else runs when a statement has a name: triggers of a table, functions, views. A null text is not for this account to read. */
export const RUN_BY_NAME = `
  SELECT event_object_table AS name, action_statement AS text FROM information_schema.triggers
  UNION ALL SELECT routine_name, routine_definition FROM information_schema.routines WHERE routine_schema NOT IN ('sys', 'mysql')
  UNION ALL SELECT table_name, view_definition FROM information_schema.views WHERE table_schema NOT IN ('sys', 'mysql')`;

const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(/[\p{L}\p{N}_$]+/gu) ?? [];

/** Schemas that the account sees; their triggers it sees only with the right to. */
export const SCHEMAS = "SELECT schema_name AS name FROM information_schema.schemata WHERE schema_name <> 'information_schema'";

/** Whether an account with these grants sees the triggers of a schema: without the right to, there seem to be none. */
export function seesTriggers(grants: readonly Grant[]): (schema: string) => boolean {
  const wide = grants.filter(
    ({ rights, table }) => table === '*' && (rights.includes('ALL PRIVILEGES') || rights.includes('TRIGGER')),
  );
  return (schema) => wide.some(({ database }) => database === '*' || grantCovers(database, schema));
}

/** What of a statement's surroundings decides whether its changes are counted. */
export interface Surroundings {
  readonly cascades: readonly Row[];
  readonly run_by_name: readonly Row[];
  readonly schemas: readonly string[];
  /** The schema of names that stand without one. */
  readonly own_schema: string;
  readonly seesTriggers: (schema: string) => boolean;
}

/**
 * Why the changed rows of a statement cannot all be counted: it reaches a table with cascades, by whatever names there are on the way,
 * or a schema whose triggers the account does not see.
 */
export function uncountedCascade(text: string, its: Surroundings): string | null {
  const { cascades, run_by_name, schemas, own_schema } = its;
  const runs = Map.groupBy(run_by_name, ({ name }) => textOf(name).toLowerCase());
  const reached = new Set(wordsOf(text));
  // What is added on the way is visited, too.
  for (const word of reached) {
    for (const { name, text: body } of runs.get(word) ?? []) {
      if (body === null)
        return `What ${textOf(name)} runs cannot be read by this account, so the rows that it changes cannot be counted.`;
      for (const next of wordsOf(textOf(body))) reached.add(next);
    }
  }
  const hidden = schemas.find(
    (schema) => (schema === own_schema || reached.has(schema.toLowerCase())) && !its.seesTriggers(schema),
  );
  if (hidden !== undefined) {
    return `This account does not see the triggers of ${hidden}, so the rows that they change cannot be counted. Grant it TRIGGER on ${hidden}.`;
  }
  const found = cascades.find(({ target }) => reached.has(textOf(target).toLowerCase()));
  if (found === undefined) return null;
  const { target, name } = found;
  return `${textOf(target)} has cascades to ${textOf(name)}, whose rows the server does not count. Change the rows of ${textOf(name)} in a statement of its own, and let the foreign key restrict.`;
}
