import { type Column, eq, inArray, type SQL, sql } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Store } from './store.ts';

/** Of this many rows or more, the newest are found soon by any index. */
const MANY = 30_000;

/**
 * The condition with the fewest rows, so that the embedded database, which has no statistics, reads the index of this one. Undefined:
 * the database chooses. @param conditions each has an index.
 */
export async function rarest<Name extends string>(
  { dialect, db }: Store,
  table: SQLiteTable,
  conditions: ReadonlyMap<Name, SQL>,
): Promise<Name | undefined> {
  const [first] = conditions.keys();
  if (dialect === 'postgresql' || conditions.size < 2) return first;
  const counts = [...conditions.values()].map(
    (condition) => sql`(select count(*) from (select 1 from ${table} where ${condition} limit ${MANY}))`,
  );
  const [row] = await db
    .select(Object.fromEntries([...conditions.keys()].map((name, n) => [name, counts[n]?.as(name) ?? sql``])))
    .from(sql`(select 1) as one`);
  const found = [...conditions.keys()]
    .map((name) => ({ name, count: Number(row?.[name]) }))
    .toSorted((a, b) => a.count - b.count);
  const [least] = found;
  return least === undefined || least.count >= MANY ? undefined : least.name;
}

/** A condition that the embedded database checks on the rows of another index, although its column has one. */
export const isAlso = (store: Pick<Store, 'dialect'>, column: Column, values: string | readonly string[]): SQL => {
  if (store.dialect === 'postgresql') return typeof values === 'string' ? eq(column, values) : inArray(column, [...values]);
  return typeof values === 'string' ? sql`+${column} = ${values}` : sql`+${column} in ${[...values]}`;
};
