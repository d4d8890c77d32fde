import type { Platform } from '#core/platform/platform.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import type { Plural } from '#core/contract/entities.ts';
import type { Schema } from '#core/store/schema.ts';
import type { EntityType } from '#core/contract/history.ts';
import type { Context } from '#core/context/context.ts';
import { and, eq, inArray, ne, desc } from 'drizzle-orm';
import { AppError } from '#core/errors.ts';
import { recordHistory } from './history.ts';
import type { Db } from '#core/store/store.ts';
import { uniqueViolation } from '#core/store/open.ts';

/** Records that one statement writes, deletes or describes; a row of the history has 15 values, and SQLite takes 32,766. */
export const AT_ONCE = 64;

/** @template S an earlier state, @template V what is to be stored of it. */
export interface Restored<S, V> {
  readonly earlier: S;
  /** The stored version; null: nothing must be stored. */
  readonly expected: number | null;
  readonly values: V;
}

/** Tables whose records have a version. */
type Table = Plural | 'identity_providers' | 'oauth_apps';

type Row<T extends Table> = Schema[T]['$inferSelect'];

/** What is stored of a record, but for what the store adds. */
export type RecordValues<T extends Table> = Omit<Schema[T]['$inferInsert'], 'id' | 'version' | 'created_at' | 'updated_at'>;

/** Of a record that comes back. */
export interface EarlierVersion {
  readonly version: number;
  readonly created_at: string;
}

export interface NewRecord<V> {
  readonly id: string;
  readonly values: V;
  readonly past?: EarlierVersion | undefined;
}

/** @template V what changes. */
export interface ChangedRecord<V> {
  readonly id: string;
  /** The version that the change was made on; another one stored is a conflict. */
  readonly expected: number | undefined;
  readonly values: V;
}

interface VersionedTable<T extends Table> {
  readonly table: T;
  readonly entity_type: EntityType;
  /** As a sentence names it. */
  readonly label: string;
  /** As the history keeps a row; absent: as it is. */
  toRecord?(this: void, context: Context, row: Row<T>): object;
}

/** How records with a version are read and written: optimistic lock, unique names and history are here. */
export function createVersioned<T extends Table>({
  table: name,
  entity_type,
  label,
  toRecord = (_, row) => row,
}: VersionedTable<T>) {
  // What is read here, every one of these tables has; the row's own type is restored where it leaves.
  const tableOf = ({ app }: { readonly app: Platform }): Schema['tools'] => app.store.tables[name] as unknown as Schema['tools'];
  const missing = () => new AppError('not_found', `There is no ${label} with this id.`);
  const recorded = (context: Context, row: Row<T>) => ({ ...toRecord(context, row) });
  const subjectOf = ({ id, name }: Row<T>) => ({ entity_type, entity_id: id, entity_name: name });

  const get = async ({ app }: { readonly app: Platform }, id: string, tx: Db = app.store.db): Promise<Row<T>> => {
    const table = tableOf({ app });
    const [row] = await tx.select().from(table).where(eq(table.id, id)).limit(1);
    if (row === undefined) throw missing();
    return row;
  };

  /** Those that are stored, by id. */
  const getAll = async (
    { app }: { readonly app: Platform },
    ids: readonly string[],
    tx: Db = app.store.db,
  ): Promise<ReadonlyMap<string, Row<T>>> => {
    const table = tableOf({ app });
    const rows = await tx
      .select()
      .from(table)
      .where(inArray(table.id, [...ids]));
    return new Map(rows.map((row) => [row.id, row as unknown as Row<T>]));
  };

  /** New records with one statement a table, whatever their number: a statement costs more than a row. */
  const insertAll = async (context: Context, tx: Db, records: readonly NewRecord<RecordValues<T>>[]): Promise<Row<T>[]> => {
    const updated_at = context.app.clock().toISOString();
    const rows = records.map(({ id, values, past }) => {
      const common = { id, version: (past?.version ?? 0) + 1, created_at: past?.created_at ?? updated_at, updated_at };
      return { ...values, ...common } as unknown as Schema['tools']['$inferInsert'];
    });
    const stored = await withTakenField(label, () => tx.insert(tableOf(context)).values(rows).returning());
    const entries = stored.map((row) => ({ ...subjectOf(row), before: null, after: recorded(context, row) }));
    await recordHistory(tx, context, ...entries);
    return stored;
  };

  /** Each with a statement of its own, as its values are; all else with one for all of them. */
  const updateAll = async (
    context: Context,
    tx: Db,
    changes: readonly ChangedRecord<Partial<RecordValues<T>>>[],
  ): Promise<{ before: Row<T>; after: Row<T> }[]> => {
    const table = tableOf(context);
    const ids = changes.map(({ id }) => id);
    const found = await getAll(context, ids, tx);
    const written: { before: Row<T>; after: Row<T> }[] = [];
    for (const { id, expected, values } of changes) {
      const stored = found.get(id);
      if (stored === undefined) throw missing();
      checkVersion(entity_type, stored, expected, label);
      // Another record may have been given its name before this one gets the next.
      const parked = context.batch?.cache.parked;
      const before = (parked?.get(id) as Row<T> | undefined) ?? stored;
      parked?.delete(id);
      // A change that changes nothing is no version and leaves no history.
      if (Object.keys(values).length === 0) {
        written.push({ before, after: before });
        continue;
      }
      const change = { ...values, version: before.version + 1, updated_at: context.app.clock().toISOString() };
      const [after] = await withTakenField(label, () =>
        tx
          .update(table)
          .set(change)
          .where(and(eq(table.id, id), eq(table.version, before.version)))
          .returning(),
      );
      if (after === undefined) throw new StaleVersion(entity_type, id, label, before.version + 1);
      written.push({ before, after });
    }
    const entries = written.flatMap(({ before, after }) =>
      before === after ? [] : [{ ...subjectOf(after), before: recorded(context, before), after: recorded(context, after) }],
    );
    await recordHistory(tx, context, ...entries);
    return written;
  };

  /** In the order of the ids. */
  const removeAll = async (context: Context, tx: Db, ids: readonly string[], batch_id?: string): Promise<Row<T>[]> => {
    const table = tableOf(context);
    const deleted = await tx
      .delete(table)
      .where(inArray(table.id, [...ids]))
      .returning();
    const by_id = new Map(deleted.map((row) => [row.id, row as unknown as Row<T>]));
    const rows = ids.map((id) => {
      const row = by_id.get(id);
      if (row === undefined) throw missing();
      return row;
    });
    const entries = rows.map((row) => ({ ...subjectOf(row), before: recorded(context, row), after: null, batch_id }));
    await recordHistory(tx, context, ...entries);
    return rows;
  };

  return {
    get,
    getAll,
    insertAll,
    updateAll,
    removeAll,
    /** @param past of a record that comes back: its version counts on. */
    async insert(context: Context, tx: Db, values: RecordValues<T>, id: string, past?: EarlierVersion): Promise<Row<T>> {
      const [stored] = await insertAll(context, tx, [{ id, values, past }]);
      return stored as Row<T>;
    },
    /** @param expected the version that the change was made on; another one stored is a conflict. */
    async update(
      context: Context,
      tx: Db,
      id: string,
      expected: number | undefined,
      values: Partial<RecordValues<T>>,
    ): Promise<{ before: Row<T>; after: Row<T> }> {
      const [written] = await updateAll(context, tx, [{ id, expected, values }]);
      return written as { before: Row<T>; after: Row<T> };
    },
    async remove(context: Context, tx: Db, id: string): Promise<Row<T>> {
      const [row] = await removeAll(context, tx, [id]);
      return row as Row<T>;
    },
  };
}

/** A change that was made on another version than the stored one. */
export class StaleVersion extends AppError {
  readonly entity_type: EntityType;
  readonly entity_id: string;
  readonly rest: string;

  constructor(entity_type: EntityType, entity_id: string, label: string, stored: number) {
    const rest = `it is now at version ${stored}. Read it again and repeat your change.`;
    super('conflict', `Someone else changed this ${label}; ${rest}`);
    this.entity_type = entity_type;
    this.entity_id = entity_id;
    this.rest = rest;
  }
}

interface VersionOf {
  /** Absent: there is one of its type. */
  readonly id?: string;
  readonly version: number;
}

/** Refuses a change that was made on another version than the stored one. @param label as a sentence names it. */
export function checkVersion(
  type: EntityType,
  { id = type, version }: VersionOf,
  expected: number | undefined,
  label: string = type.replaceAll('_', ' '),
): void {
  if (expected !== undefined && expected !== version) throw new StaleVersion(type, id, label, version);
}

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

/** Fields of unique indexes by a part of their names; every other one is of names. */
const TAKEN: readonly (readonly [part: string, field: string])[] = [
  ['client_id', 'client_id'],
  ['uri', 'uri_template'],
];

/** Says at its field what is taken when a unique index refuses. */
async function withTakenField<R>(label: string, write: () => Promise<R>): Promise<R> {
  try {
    return await write();
  } catch (error) {
    const index = uniqueViolation(error);
    if (index === null) throw error;
    const field = TAKEN.find(([part]) => index.includes(part))?.[1] ?? 'name';
    const message = `Another ${label} already has this ${field}. Choose another one.`;
    throw new AppError('conflict', message, { cause: error, errors: [{ field, message }] });
  }
}

/** What a person wrote of a stored record: without what the store adds. */
export function toDraft<R extends { readonly id: string; readonly version: number; readonly created_at: string }>(
  row: R,
): Omit<R, 'id' | 'version' | 'created_at' | 'updated_at'> {
  const { id: _, version: _version, created_at: _created, ...rest } = row;
  const { updated_at: _updated, ...draft } = rest as typeof rest & { readonly updated_at?: string };
  return draft as unknown as Omit<R, 'id' | 'version' | 'created_at' | 'updated_at'>;
}

/** Whether a draft gives one of these fields another value than the stored record has. What is not touched is not checked again. */
export function changesAny(draft: object, stored: object, fields: readonly string[]): boolean {
  const [now, before] = [draft, stored] as Readonly<Record<string, unknown>>[];
  return fields.some((field) => canonical(now?.[field]) !== canonical(before?.[field]));
}

/** The refusal of a change, with who changed the record before and what it is called, when that is known. */
export async function withAuthor({ store }: Platform, stale: StaleVersion): Promise<AppError> {
  const { history } = store.tables;
  const { entity_type, entity_id, rest } = stale;
  const [last] = await store.db
    .select({ by: history.actor_name, name: history.entity_name })
    .from(history)
    .where(and(eq(history.entity_type, entity_type), eq(history.entity_id, entity_id), ne(history.action, 'blocked')))
    .orderBy(desc(history.id))
    .limit(1);
  return last === undefined
    ? stale
    : new AppError('conflict', `${last.by} changed ${last.name} in the meantime; ${rest}`, { cause: stale });
}
