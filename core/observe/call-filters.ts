import type { Platform } from '#core/platform/platform.ts';
import { and, type Column, eq, gte, isNull, lt, or, type SQL, sql, inArray, isNotNull, notInArray } from 'drizzle-orm';
import type { Store } from '#core/store/store.ts';
import { OUTCOME_CODES, type CallOutcome } from '#core/contract/observe/outcomes.ts';

const OTHER_CODES = Object.values(OUTCOME_CODES).flat();

/** A client by its name: `claude` is every version of it, `claude/1.0` that one, '' those without a name. */
export function isClient({ dialect }: Pick<Store, 'dialect'>, column: Column, name: string): SQL | undefined {
  // Rows of earlier versions have '' instead of null.
  if (name === '') return or(isNull(column), eq(column, ''));
  const start = `${name}/`;
  const length = Array.from(start).length;
  // Only SQLite compares bytes, whatever the locale; '0' comes after '/'.
  const begins =
    dialect === 'sqlite' ? and(gte(column, start), lt(column, `${name}0`)) : sql`substr(${column}, 1, ${length}) = ${start}`;
  // What follows a name is its version, which has no slash.
  return or(eq(column, name), and(begins, sql`substr(${column}, ${length + 1}) not like '%/%'`));
}

/** What a client calls itself, without its version: `name/version`, and a name may have a slash in it. */
export function clientName(client: string | null): string | null {
  if (client === null || client === '') return null;
  const slash = client.lastIndexOf('/');
  return slash < 1 ? client : client.slice(0, slash);
}

/** Calls that ended so. That there is an error is said as the indexes of failed calls say it. */
export function endedAs({ store }: Platform, outcome: CallOutcome): SQL | undefined {
  const { error } = store.tables.request_logs;
  if (outcome === 'ok') return isNull(error);
  if (outcome === 'tool_error') return and(isNotNull(error), notInArray(error, OTHER_CODES));
  return and(isNotNull(error), inArray(error, [...OUTCOME_CODES[outcome]]));
}
