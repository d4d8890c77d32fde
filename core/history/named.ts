import { inArray, type SQL, sql } from 'drizzle-orm';
import { countUpTo } from '#core/store/pages.ts';
import { isAlso } from '#core/store/rarest.ts';
import { foundIn } from '#core/store/search.ts';
import type { Store } from '#core/store/store.ts';

/** A longer list of names takes longer to look up than the entries to read. */
const MOST_FOUND = 500;
/** Reading more names than that takes longer than reading the entries. */
const MOST_READ = 20_000;
/** Up to here, the index of names finds the newest entries sooner than reading the entries in order does. */
const RARE = 50_000;

export interface Named {
  readonly where: SQL | undefined;
  /** Whether so few entries match that the index of names finds them soonest. */
  readonly is_rare: boolean;
}

/**
 * Entries of records whose name has these words. A million entries have a few thousand names, so the names are searched: each is
 * read once, from the index. When many entries match, the newest are found sooner by reading the entries in order.
 */
export async function entriesNamed(store: Store, search: string | undefined): Promise<Named> {
  const { history } = store.tables;
  const { entity_name } = history;
  const matches = foundIn({ name: entity_name }, search);
  if (matches === undefined) return { where: undefined, is_rare: false };
  const smallest = sql`select min(${entity_name})`;
  // Under the name of the table, `matches` refers to these names.
  const names = sql`(with recursive names(entity_name, ordinal) as (${smallest}, 1 from ${history} union all
    select (${smallest} from ${history} where ${entity_name} > names.entity_name), ordinal + 1
    from names where entity_name is not null and ordinal < ${MOST_READ})
    select entity_name, ordinal from names where entity_name is not null) as ${history}`;
  const found = await store.db
    .select({ name: sql<string>`entity_name`, ordinal: sql<number | string>`ordinal` })
    .from(names)
    .where(sql`${matches} or ordinal = ${MOST_READ}`)
    .limit(MOST_FOUND + 1);
  if (found.length > MOST_FOUND || found.some(({ ordinal }) => Number(ordinal) === MOST_READ))
    return { where: matches, is_rare: false };
  const list = found.map(({ name }) => name);
  const where = inArray(entity_name, list);
  const counted = await countUpTo({ store }, RARE, store.db.select({ name: entity_name }).from(history).where(where));
  if (counted < RARE) return { where, is_rare: true };
  return { where: isAlso(store, entity_name, list), is_rare: false };
}
