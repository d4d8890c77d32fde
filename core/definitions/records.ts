import { and, asc, type Column, eq, is, or, type SQL, sql } from 'drizzle-orm';
import { PgColumn } from 'drizzle-orm/pg-core';
import type { EntityKind, Plural } from '#core/contract/entities.ts';
import { type Db, uniqueViolation } from '#core/store/open.ts';
import { entityTable } from '#core/store/entity-table.ts';
import type { Schema } from '#core/store/schema.ts';
import { AppError } from '#core/errors.ts';
import type { Context } from '#core/run.ts';
import { globContaining, regexContaining } from '#core/lib/text/letter-case.ts';
import { canonical } from '#snapshots/canonical.ts';
import { type EntityType, recordCreated, recordHistory } from '#core/observe/history.ts';
import { noteChange } from '#core/store/journal.ts';
import { refuseTooMany } from './guard/most.ts';

export type RowOf<K extends EntityKind> = Schema[Plural<K>]['$inferSelect'];
export type ValuesOf<K extends EntityKind> = Omit<
  Schema[Plural<K>]['$inferInsert'],
  'id' | 'version' | 'created_at' | 'updated_at'
>;

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

/** The one list, get and write path of every noun: optimistic lock, unique names and history are here. */
export interface Noun<T extends EntityKind> {
  list(context: Context, filter: ListFilter): Promise<{ items: RowOf<T>[]; total: number }>;
  get(context: Context, id: string, tx?: Db): Promise<RowOf<T>>;
  /** @param past of a record that comes back: its version counts on. */
  insert(context: Context, tx: Db, values: ValuesOf<T>, id?: string, past?: Past): Promise<RowOf<T>>;
  /** New records with one statement a table, whatever their number: a statement costs more than a row. */
  insertAll(context: Context, tx: Db, records: readonly NewRecord<ValuesOf<T>>[]): Promise<RowOf<T>[]>;
  /** @param expected the version that the change was made on; another one stored is a conflict. */
  update(context: Context, tx: Db, id: string, expected: number | undefined, values: Partial<ValuesOf<T>>): Promise<RowOf<T>>;
  remove(context: Context, tx: Db, id: string, batch_id?: string): Promise<RowOf<T>>;
  /**
   * Writes the whole of an earlier state under its id, with the next version: over what is stored, or as a record that comes back.
   * @param expected the stored version, null when nothing must be stored.
   */
  restore(
    context: Context,
    tx: Db,
    earlier: Past & { id: string },
    expected: number | null,
    values: ValuesOf<T>,
  ): Promise<RowOf<T>>;
}

export interface NewRecord<V> {
  readonly id: string;
  readonly values: V;
  readonly past?: Past | undefined;
}

interface Past {
  readonly version: number;
  readonly created_at: string;
}

export function createNoun<T extends EntityKind>(entity_type: T): Noun<T> {
  const tableOf = ({ app }: Context): Schema['tools'] => entityTable(app.store, entity_type);
  // The row's own type is restored at the edges of this file.
  const toRow = (row: unknown): RowOf<T> => row as RowOf<T>;
  const missing = () => new AppError('not_found', `There is no ${entity_type} with this id.`);

  const get: Noun<T>['get'] = async (context, id, tx = context.app.store.db) => {
    const table = tableOf(context);
    const rows = await tx.select().from(table).where(eq(table.id, id)).limit(1);
    if (rows[0] === undefined) throw missing();
    return toRow(rows[0]);
  };

  const noun: Noun<T> = {
    get,
    async list(context, { skip, limit, search, enabled, connection_id, tags, owner }) {
      const table = tableOf(context);
      const condition = and(
        connection_id === undefined ? undefined : eq(table.connection_id, connection_id),
        anyTag(table, tags),
        owner === undefined ? undefined : eq(context.app.store.tables.tests.owner_id, owner.slice(owner.indexOf(':') + 1)),
        enabled === undefined ? undefined : eq(table.enabled, enabled),
        search === undefined ? undefined : or(contains(table.name, search), ...descriptionContains(table, search)),
      );
      const { db } = context.app.store;
      const [items, total] = await Promise.all([
        db.select().from(table).where(condition).orderBy(asc(table.name), asc(table.id)).limit(limit).offset(skip),
        db.$count(table, condition),
      ]);
      return { items: items.map(toRow), total };
    },
    async insert(context, tx, values, id = newId(context, entity_type, values), past) {
      const [stored] = await noun.insertAll(context, tx, [{ id, values, past }]);
      return toRow(stored);
    },
    async insertAll(context, tx, records) {
      const updated_at = context.app.clock().toISOString();
      const rows = records.map(({ id, values, past }) => {
        const common = { id, version: (past?.version ?? 0) + 1, created_at: past?.created_at ?? updated_at, updated_at };
        return { ...values, ...common } as unknown as Schema['tools']['$inferInsert'];
      });
      await noteChange(context.app.store, tx, entity_type, ...rows.map(({ id }) => id));
      const stored = await named(entity_type, () => tx.insert(tableOf(context)).values(rows).returning());
      await refuseTooMany(context.app, tx, entity_type, stored);
      const entries = stored.map((row) => ({
        entity_type,
        entity_id: row.id,
        entity_name: row.name,
        action: 'create' as const,
        before: null,
        after: { ...row },
      }));
      await recordCreated(tx, context, entries);
      return stored.map(toRow);
    },
    async update(context, tx, id, expected, values) {
      const table = tableOf(context);
      await noteChange(context.app.store, tx, entity_type, id);
      const before = (await get(context, id, tx)) as unknown as Schema['tools']['$inferSelect'];
      checkVersion(entity_type, before, expected);
      const change = { ...values, version: before.version + 1, updated_at: context.app.clock().toISOString() };
      const stored = await named(entity_type, () =>
        tx
          .update(table)
          .set(change)
          .where(and(eq(table.id, id), eq(table.version, before.version)))
          .returning(),
      );
      const after = stored[0];
      if (after === undefined) throw stale(entity_type, before.version + 1);
      if (touches(after, before, ['owner'])) await refuseTooMany(context.app, tx, entity_type, [after]);
      await recordHistory(tx, context, {
        entity_type,
        entity_id: id,
        entity_name: after.name,
        action: 'update',
        before: { ...before },
        after: { ...after },
      });
      return toRow(after);
    },
    async remove(context, tx, id, batch_id) {
      const table = tableOf(context);
      await noteChange(context.app.store, tx, entity_type, id);
      const batch = await removeTests(context, tx, id, batch_id);
      const row = (await tx.delete(table).where(eq(table.id, id)).returning())[0];
      if (row === undefined) throw missing();
      await tx.delete(context.app.store.tables.compiled).where(eq(context.app.store.tables.compiled.entity_id, id));
      await recordHistory(tx, context, {
        entity_type,
        entity_id: id,
        entity_name: row.name,
        action: 'delete',
        before: { ...row },
        after: null,
        ...(batch === undefined ? {} : { batch_id: batch }),
      });
      return toRow(row);
    },
    restore(context, tx, earlier, expected, values) {
      return expected === null
        ? noun.insert(context, tx, values, earlier.id, earlier)
        : noun.update(context, tx, earlier.id, expected, values);
    },
  };
  return noun;
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

/** Refuses a change that was made on another version than the stored one. */
export function checkVersion(
  noun: EntityType | 'person',
  stored: { readonly version: number },
  expected: number | undefined,
): void {
  if (expected !== undefined && expected !== stored.version) throw stale(noun, stored.version);
}

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

const ATTEMPTS = 20;

/** Makes a change on what is stored now. Without a version the last one wins, so a change that met another one is made again. */
export async function retryOnConflict<T>(version: number | undefined, change: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await change();
    } catch (error) {
      // A conflict that names a field is about that field.
      const retry = version === undefined && error instanceof AppError && error.code === 'conflict' && error.errors.length === 0;
      if (!retry || attempt === ATTEMPTS) throw error;
    }
  }
}

const stale = (noun: EntityType | 'person', stored: number): AppError =>
  new AppError(
    'conflict',
    `Someone else changed this ${noun}; it is now at version ${stored}. Read it again and repeat your change.`,
  );

/** Fields of unique indexes by a part of their names; every other one is of names. */
const TAKEN: readonly (readonly [part: string, field: string])[] = [
  ['client_id', 'client_id'],
  ['uri', 'uri_template'],
];

/** Says at its field what is taken when a unique index refuses. */
export async function named<R>(noun: string, write: () => Promise<R>): Promise<R> {
  try {
    return await write();
  } catch (error) {
    const index = uniqueViolation(error);
    if (index === null) throw error;
    const field = TAKEN.find(([part]) => index.includes(part))?.[1] ?? 'name';
    const message = `Another ${noun} already has this ${field}. Choose another one.`;
    throw new AppError('conflict', message, { cause: error, errors: [{ field, message }] });
  }
}

/** Rows that have any tag of a comma list. Tags are JSON text, so a tag stands there in quotes; it is compared as it is. */
function anyTag(table: Schema['tools'], tags: string | undefined): SQL | undefined {
  const wanted = tags
    ?.split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
  if (wanted === undefined || wanted.length === 0) return undefined;
  return or(...wanted.map((tag) => sql`replace(${table.tags}, ${JSON.stringify(tag)}, '') <> ${table.tags}`));
}

/** What a person wrote of a stored record: without what the store adds. */
export function toDraft<R extends { readonly id: string; readonly version: number; readonly created_at: string }>(
  row: R,
): Omit<R, 'id' | 'version' | 'created_at' | 'updated_at'> {
  const { id: _, version: _version, created_at: _created, ...rest } = row;
  const { updated_at: _updated, ...draft } = rest as typeof rest & { readonly updated_at?: string };
  return draft as unknown as Omit<R, 'id' | 'version' | 'created_at' | 'updated_at'>;
}
