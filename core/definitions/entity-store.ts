import type { Platform } from '#core/platform/platform.ts';
import { type EntityKind, type Plural, ENTITIES, ENTITY_KINDS } from '#core/contract/entities.ts';
import type { Db } from '#core/store/store.ts';
import { MOST_TOOLSETS } from '#core/contract/definitions/toolsets.ts';
import { AppError } from '#core/errors.ts';
import { count, inArray, and, asc, eq, type Column, type SQL, sql, or } from 'drizzle-orm';
import { MOST_TESTS, type TestOwner } from '#core/contract/definitions/tests.ts';
import {
  type RecordValues,
  type ChangedRecord,
  type NewRecord,
  type EarlierVersion,
  type Restored,
  changesAny,
  ROWS_PER_STATEMENT,
  VersionedRecords,
} from '#core/records/versioned.ts';
import { entityTable, type RowOf } from '#core/store/entity-table.ts';
import { readPage } from '#core/store/pages.ts';
import { bestFirst, foundIn } from '#core/store/search.ts';
import { type Context, newId } from '#core/context/context.ts';
import { noteChange } from '#core/store/journal.ts';
import { pagesOf } from '#core/lib/slices.ts';
import type { Schema } from '#core/store/schema.ts';

export type ValuesOf<K extends EntityKind> = RecordValues<Plural<K>>;

export interface ListFilter {
  readonly skip: number;
  readonly limit: number;
  readonly search?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly connection_id?: string | undefined;
  /** Separated by commas. A record matches with any of them. */
  readonly tags?: string | undefined;
  /** `<kind>:<id>`. Only tests have an owner. */
  readonly owner?: string | undefined;
}

type SearchedTable = { readonly name: Column } & { readonly [N in 'title' | 'description' | 'uri_template' | 'tags']?: Column };

/**
 * Throws when there are more records than allowed. Runs after the write, so that deletions earlier in the same transaction make room.
 * @param rows that were written, in a transaction that writes entities alone.
 */
async function refuseTooMany(app: Platform, tx: Db, kind: EntityKind, rows: readonly object[]): Promise<void> {
  await CHECKS[kind]?.(app, tx, rows);
}

const CHECKS: Partial<Readonly<Record<EntityKind, typeof refuseTooManyToolsets>>> = {
  toolset: refuseTooManyToolsets,
  test: refuseTooManyTests,
};

async function refuseTooManyToolsets({ store }: Pick<Platform, 'store'>, tx: Db, _: readonly object[]): Promise<void> {
  if ((await tx.$count(store.tables.toolsets)) <= MOST_TOOLSETS) return;
  throw new AppError('conflict', `An installation has at most ${MOST_TOOLSETS} toolsets. Delete one first.`);
}

async function refuseTooManyTests({ store }: Pick<Platform, 'store'>, tx: Db, rows: readonly object[]): Promise<void> {
  const { tests: table } = store.tables;
  const owners = new Map((rows as readonly { owner: TestOwner }[]).map(({ owner }) => [owner.id, owner.kind]));
  const counted = await tx
    .select({ owner_id: table.owner_id, stored: count() })
    .from(table)
    .where(inArray(table.owner_id, [...owners.keys()]))
    .groupBy(table.owner_id);
  const crowded = counted.find(({ stored }) => stored > MOST_TESTS);
  if (crowded === undefined) return;
  const message = `A ${owners.get(crowded.owner_id)} has at most ${MOST_TESTS} tests. Delete one first.`;
  throw new AppError('conflict', message, { errors: [{ field: 'owner', message }] });
}

/** Lists, reads and writes records of one kind. */
export class EntityStore<K extends EntityKind> {
  readonly #kind: K;
  readonly #records: VersionedRecords<Plural<K>>;

  constructor(kind: K) {
    this.#kind = kind;
    const table: Plural<K> = ENTITIES[kind].plural;
    this.#records = new VersionedRecords({ table, entity_type: kind, label: kind });
  }

  get(context: { readonly app: Platform }, id: string, tx?: Db): Promise<RowOf<K>> {
    return this.#records.get(context, id, tx);
  }

  getAll(context: { readonly app: Platform }, ids: readonly string[], tx?: Db): Promise<ReadonlyMap<string, RowOf<K>>> {
    return this.#records.getAll(context, ids, tx);
  }

  async insertAll(context: Context, tx: Db, added: readonly NewRecord<ValuesOf<K>>[]): Promise<RowOf<K>[]> {
    await noteChange(context.app.store, tx, this.#kind, ...added.map(({ id }) => id));
    const stored = await this.#records.insertAll(context, tx, added);
    await refuseTooMany(context.app, tx, this.#kind, stored);
    return stored;
  }

  async insert(
    context: Context,
    tx: Db,
    values: ValuesOf<K>,
    id = newId(context, this.#kind, values),
    past?: EarlierVersion,
  ): Promise<RowOf<K>> {
    const [stored] = await this.insertAll(context, tx, [{ id, values, past }]);
    return stored as RowOf<K>;
  }

  async updateAll(context: Context, tx: Db, changes: readonly ChangedRecord<Partial<ValuesOf<K>>>[]): Promise<RowOf<K>[]> {
    await noteChange(context.app.store, tx, this.#kind, ...changes.map(({ id }) => id));
    const written = await this.#records.updateAll(context, tx, changes);
    const moved = written.filter(({ before, after }) => changesAny(after, before, ['owner']));
    if (moved.length > 0)
      await refuseTooMany(
        context.app,
        tx,
        this.#kind,
        moved.map(({ after }) => after),
      );
    return written.map(({ after }) => after);
  }

  /** Deletes records with their tests and compiled statements. */
  async removeAll(context: Context, tx: Db, ids: readonly string[], batch_id?: string): Promise<RowOf<K>[]> {
    const { store } = context.app;
    await noteChange(store, tx, this.#kind, ...ids);
    const batch = await removeTests(context, tx, ids, batch_id);
    await tx.delete(store.tables.compiled).where(inArray(store.tables.compiled.entity_id, [...ids]));
    return this.#records.removeAll(context, tx, ids, batch);
  }

  async update(context: Context, tx: Db, id: string, expected: number, values: Partial<ValuesOf<K>>): Promise<RowOf<K>> {
    const [row] = await this.updateAll(context, tx, [{ id, expected, values }]);
    return row as RowOf<K>;
  }

  async list(context: Context, filter: ListFilter): Promise<{ items: RowOf<K>[]; total: number }> {
    const { skip, limit, search, enabled, connection_id, tags, owner } = filter;
    const table = entityTable(context.app.store, this.#kind);
    const where = and(
      connection_id === undefined ? undefined : eq(table.connection_id, connection_id),
      anyTag(table, tags),
      ofOwner(context, owner),
      enabled === undefined ? undefined : eq(table.enabled, enabled),
      foundIn(searched(table), search),
    );
    const order = [...bestFirst(searched(table), search), asc(table.name), asc(table.id)];
    const { rows, total } = await readPage(context.app.store.db, table, { where, order, skip, limit });
    return { items: rows as unknown[] as RowOf<K>[], total };
  }

  /** Restores earlier states under their ids, as the next version: over the stored record, or as a new one when it was deleted. */
  async restoreAll(context: Context, tx: Db, restored: readonly Restored<RowOf<K>, ValuesOf<K>>[]): Promise<void> {
    const deleted = restored.filter(({ expected }) => expected === null);
    const existing = restored.filter(({ expected }) => expected !== null);
    if (deleted.length > 0) {
      const added = deleted.map(({ earlier, values }) => ({ id: earlier.id, values, past: earlier }));
      await this.insertAll(context, tx, added);
    }
    if (existing.length > 0) {
      const changes = existing.map(({ earlier, expected, values }) => ({
        id: earlier.id,
        expected: expected ?? undefined,
        values,
      }));
      await this.updateAll(context, tx, changes);
    }
  }
}

/** Deletes the tests of definitions, in one batch with them. @returns the id of the batch, if there is one. */
async function removeTests(
  context: Context,
  tx: Db,
  ids: readonly string[],
  batch_id: string | undefined,
): Promise<string | undefined> {
  const { tests, test_results } = context.app.store.tables;
  await tx.delete(test_results).where(inArray(test_results.test_id, [...ids]));
  const rows = await tx
    .select({ id: tests.id })
    .from(tests)
    .where(inArray(tests.owner_id, [...ids]));
  if (rows.length === 0) return batch_id;
  const batch = batch_id ?? context.app.ids();
  const test_ids = rows.map(({ id }) => id);
  for (const page of pagesOf(test_ids, ROWS_PER_STATEMENT)) await new EntityStore('test').removeAll(context, tx, page, batch);
  return batch;
}

/** The columns that a search reads. Not every kind has all of them. */
function searched({ name, title, description, uri_template, tags }: SearchedTable) {
  const given = (...some: readonly (Column | undefined)[]) => some.filter((column) => column !== undefined);
  return { name, title, texts: given(description, uri_template), lists: given(tags) };
}

/** Filters tests by `<kind>:<id>`. An id with the wrong kind matches nothing. */
function ofOwner({ app: { store } }: Context, owner: string | undefined): SQL | undefined {
  if (owner === undefined) return undefined;
  const [kind, id] = [owner.slice(0, owner.indexOf(':')), owner.slice(owner.indexOf(':') + 1)];
  const owned = ENTITY_KINDS.find((known) => known === kind);
  if (owned === undefined) return sql`false`;
  const table = entityTable(store, owned);
  const { owner_id } = store.tables.tests;
  return and(eq(owner_id, id), inArray(owner_id, store.db.select({ id: table.id }).from(table).where(eq(table.id, id))));
}

/**
 * Filters rows with any of the tags. A tag can contain commas and spaces, so the whole text counts as a tag as well. Tags are stored as
 * JSON text, in which each tag is quoted.
 */
function anyTag(table: Schema['tools'], tags: string | undefined): SQL | undefined {
  if (tags === undefined) return undefined;
  const parts = tags.split(',');
  const trimmed = parts.map((tag) => tag.trim()).filter((tag) => tag !== '');
  if (trimmed.length === 0) return undefined;
  const candidates = new Set([tags, ...parts, ...trimmed]);
  return or(...[...candidates].map((tag) => sql`replace(${table.tags}, ${JSON.stringify(tag)}, '') <> ${table.tags}`));
}
