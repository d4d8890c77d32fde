import { and, asc, type Column, eq, inArray, is, or, type SQL, sql } from 'drizzle-orm';
import { PgColumn } from 'drizzle-orm/pg-core';
import { ENTITIES, ENTITY_KINDS, type EntityKind, type Plural } from '#core/contract/entities.ts';
import type { Db } from '#core/store/open.ts';
import { entityTable } from '#core/store/entity-table.ts';
import { readPage } from '#core/store/pages.ts';
import type { Schema } from '#core/store/schema.ts';
import type { Context } from '#core/run.ts';
import { globContaining, regexContaining } from '#core/lib/text/letter-case.ts';
import { canonical } from '#snapshots/canonical.ts';
import { noteChange } from '#core/store/journal.ts';
import { refuseTooMany } from './guard/most.ts';
import { createVersioned, type NewRecord, type Past, type Values } from './versioned.ts';

export type RowOf<K extends EntityKind> = Schema[Plural<K>]['$inferSelect'];
export type ValuesOf<K extends EntityKind> = Values<Plural<K>>;

export interface ListFilter {
  readonly skip: number;
  readonly limit: number;
  readonly search?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly connection_id?: string | undefined;
  /** A comma list; any of them. */
  readonly tags?: string | undefined;
  /** `<kind>:<id>`; only tests have one. */
  readonly owner?: string | undefined;
}

export type Noun<K extends EntityKind> = ReturnType<typeof createNoun<K>>;

/** The one list, get and write path of every noun. */
export function createNoun<K extends EntityKind>(kind: K) {
  const table: Plural<K> = ENTITIES[kind].plural;
  const records = createVersioned({ table, entity_type: kind, label: kind });

  const insertAll = async (context: Context, tx: Db, added: readonly NewRecord<ValuesOf<K>>[]): Promise<RowOf<K>[]> => {
    await noteChange(context.app.store, tx, kind, ...added.map(({ id }) => id));
    const stored = await records.insertAll(context, tx, added);
    await refuseTooMany(context.app, tx, kind, stored);
    return stored;
  };
  const insert = async (
    context: Context,
    tx: Db,
    values: ValuesOf<K>,
    id = newId(context, kind, values),
    past?: Past,
  ): Promise<RowOf<K>> => {
    const [stored] = await insertAll(context, tx, [{ id, values, past }]);
    return stored as RowOf<K>;
  };
  const update = async (
    context: Context,
    tx: Db,
    id: string,
    expected: number | undefined,
    values: Partial<ValuesOf<K>>,
  ): Promise<RowOf<K>> => {
    await noteChange(context.app.store, tx, kind, id);
    const { before, after } = await records.update(context, tx, id, expected, values);
    if (touches(after, before, ['owner'])) await refuseTooMany(context.app, tx, kind, [after]);
    return after;
  };

  return {
    get: records.get,
    insert,
    insertAll,
    update,
    async list(context: Context, filter: ListFilter): Promise<{ items: RowOf<K>[]; total: number }> {
      const { skip, limit, search, enabled, connection_id, tags, owner } = filter;
      const table = entityTable(context.app.store, kind);
      const where = and(
        connection_id === undefined ? undefined : eq(table.connection_id, connection_id),
        anyTag(table, tags),
        ofOwner(context, owner),
        enabled === undefined ? undefined : eq(table.enabled, enabled),
        search === undefined ? undefined : or(contains(table.name, search), ...descriptionContains(table, search)),
      );
      const order = [asc(table.name), asc(table.id)];
      const { rows, total } = await readPage(context.app.store.db, table, { where, order, skip, limit });
      return { items: rows as unknown[] as RowOf<K>[], total };
    },
    async remove(context: Context, tx: Db, id: string, batch_id?: string): Promise<RowOf<K>> {
      const { store } = context.app;
      await noteChange(store, tx, kind, id);
      const batch = await removeTests(context, tx, id, batch_id);
      await tx.delete(store.tables.compiled).where(eq(store.tables.compiled.entity_id, id));
      return records.remove(context, tx, id, batch);
    },
    /** Writes the whole of an earlier state under its id, with the next version: over what is stored, or as a record that comes back. */
    restore: (
      context: Context,
      tx: Db,
      earlier: Past & { readonly id: string },
      /** The stored version; null: nothing must be stored. */
      expected: number | null,
      values: ValuesOf<K>,
    ): Promise<RowOf<K>> =>
      expected === null ? insert(context, tx, values, earlier.id, earlier) : update(context, tx, earlier.id, expected, values),
  };
}

/** The id of a new record; that of a proposed one is the same whenever the proposal is tried, and when it is approved. */
export const newId = ({ app, replay }: Context, kind: EntityKind, values: object): string =>
  replay?.newId(kind, String((values as { name?: unknown }).name)) ?? app.ids();

/** What tests a definition goes with it, as one batch. @returns the batch, if there is one. */
async function removeTests(context: Context, tx: Db, id: string, batch_id: string | undefined): Promise<string | undefined> {
  const { tests, test_results } = context.app.store.tables;
  await tx.delete(test_results).where(eq(test_results.test_id, id));
  const rows = await tx.select({ id: tests.id }).from(tests).where(eq(tests.owner_id, id));
  if (rows.length === 0) return batch_id;
  const batch = batch_id ?? context.app.ids();
  for (const test of rows) await createNoun('test').remove(context, tx, test.id, batch);
  return batch;
}

/** Whether the text stands in the column, whatever its case; stored texts may have their accents apart. */
export const contains = (column: Column, text: string): SQL | undefined =>
  or(
    ...[...new Set([text.normalize('NFC'), text.normalize('NFD')])].map((form) =>
      is(column, PgColumn) ? sql`${column} ~ ${regexContaining(form)}` : sql`${column} glob ${globContaining(form)}`,
    ),
  );

const descriptionContains = (table: Schema['tools'], text: string): (SQL | undefined)[] =>
  // Connections have no description.
  (table.description as unknown) === undefined ? [] : [contains(table.description, text)];

/** Whether a draft gives one of these fields another value than the stored record has. What is not touched is not checked again. */
export function touches(draft: object, stored: object, fields: readonly string[]): boolean {
  const [now, before] = [draft, stored] as Readonly<Record<string, unknown>>[];
  return fields.some((field) => canonical(now?.[field]) !== canonical(before?.[field]));
}

/**
 * Whether what is stored already is no change. An agent calls again where it is not sure that its call arrived, and its tools say that
 * this does nothing; what it proposes is the same whoever tries it. Any other PATCH with a field counts as a version (specification 9).
 */
export const ignoresRepeats = ({ by_name, replay }: Context): boolean => by_name === true || replay !== undefined;

/** Tests of `<kind>:<id>`. An id belongs to one kind, so another kind with it names nothing. */
function ofOwner({ app: { store } }: Context, owner: string | undefined): SQL | undefined {
  if (owner === undefined) return undefined;
  const [kind, id] = [owner.slice(0, owner.indexOf(':')), owner.slice(owner.indexOf(':') + 1)];
  const owned = ENTITY_KINDS.find((known) => known === kind);
  if (owned === undefined) return sql`false`;
  const table = entityTable(store, owned);
  const { owner_id } = store.tables.tests;
  return and(eq(owner_id, id), inArray(owner_id, store.db.select({ id: table.id }).from(table).where(eq(table.id, id))));
}

/** Rows that have any tag of a comma list. The list as a whole may be a tag too, with its commas and blanks. Tags are JSON text, so a tag stands there in quotes; it is compared as it is. */
function anyTag(table: Schema['tools'], tags: string | undefined): SQL | undefined {
  if (tags === undefined) return undefined;
  const parts = tags.split(',');
  const trimmed = parts.map((tag) => tag.trim()).filter((tag) => tag !== '');
  if (trimmed.length === 0) return undefined;
  const wanted = new Set([tags, ...parts, ...trimmed]);
  return or(...[...wanted].map((tag) => sql`replace(${table.tags}, ${JSON.stringify(tag)}, '') <> ${table.tags}`));
}
