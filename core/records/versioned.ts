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

/** Records per statement. A history row has 15 values, and SQLite allows 32,766 per statement. */
export const ROWS_PER_STATEMENT = 64;

/** @template S an earlier state. @template V the values to store. */
export interface Restored<S, V> {
  readonly earlier: S;
  /** The version that must be stored now; null when the record must not exist. */
  readonly expected: number | null;
  readonly values: V;
}

/** Tables whose records have a version. */
type Table = Plural | 'identity_providers' | 'oauth_apps';

type Row<T extends Table> = Schema[T]['$inferSelect'];

/** A record without the fields that the store adds. */
export type RecordValues<T extends Table> = Omit<Schema[T]['$inferInsert'], 'id' | 'version' | 'created_at' | 'updated_at'>;

/** Version and creation time of a record that is restored. */
export interface EarlierVersion {
  readonly version: number;
  readonly created_at: string;
}

export interface NewRecord<V> {
  readonly id: string;
  readonly values: V;
  readonly past?: EarlierVersion | undefined;
}

/** @template V the fields that change. */
export interface ChangedRecord<V> {
  readonly id: string;
  /** The version that the change is based on; a different stored version is a conflict. */
  readonly expected: number | undefined;
  readonly values: V;
}

interface VersionedOptions<T extends Table> {
  readonly table: T;
  readonly entity_type: EntityType;
  /** Its name in error messages. */
  readonly label: string;
  /** Converts a row to its history record; absent: the row is recorded unchanged. */
  toRecord?(this: void, context: Context, row: Row<T>): object;
}

/** A record before and after it was updated. */
interface Change<T extends Table> {
  readonly before: Row<T>;
  readonly after: Row<T>;
}

/** Reads and writes records that have a version: with optimistic locking, unique names and history. */
export class VersionedRecords<T extends Table> {
  readonly #table: T;
  readonly #entity_type: EntityType;
  readonly #label: string;
  readonly #toRecord: NonNullable<VersionedOptions<T>['toRecord']>;

  constructor({ table, entity_type, label, toRecord = (_, row) => row }: VersionedOptions<T>) {
    this.#table = table;
    this.#entity_type = entity_type;
    this.#label = label;
    this.#toRecord = toRecord;
  }

  async get({ app }: { readonly app: Platform }, id: string, tx: Db = app.store.db): Promise<Row<T>> {
    const table = this.#tableOf({ app });
    const [row] = await tx.select().from(table).where(eq(table.id, id)).limit(1);
    if (row === undefined) throw this.#missing();
    return row;
  }

  /** The stored records with these ids, by id. */
  async getAll(
    { app }: { readonly app: Platform },
    ids: readonly string[],
    tx: Db = app.store.db,
  ): Promise<ReadonlyMap<string, Row<T>>> {
    const table = this.#tableOf({ app });
    const rows = await tx
      .select()
      .from(table)
      .where(inArray(table.id, [...ids]));
    return new Map(rows.map((row) => [row.id, row]));
  }

  /** Inserts records with one statement per table: a statement costs more than a row. */
  async insertAll(context: Context, tx: Db, records: readonly NewRecord<RecordValues<T>>[]): Promise<Row<T>[]> {
    const updated_at = context.app.clock().toISOString();
    const rows = records.map(({ id, values, past }) => {
      const common = { id, version: (past?.version ?? 0) + 1, created_at: past?.created_at ?? updated_at, updated_at };
      return { ...values, ...common } as Schema['tools']['$inferInsert'];
    });
    const stored = await withTakenField(this.#label, () => tx.insert(this.#tableOf(context)).values(rows).returning());
    const entries = stored.map((row) => ({ ...this.#subjectOf(row), before: null, after: this.#recorded(context, row) }));
    await recordHistory(tx, context, ...entries);
    return stored;
  }

  /** Updates each record with one statement, because their values differ. Reading and history take one statement for all. */
  async updateAll(context: Context, tx: Db, changes: readonly ChangedRecord<Partial<RecordValues<T>>>[]): Promise<Change<T>[]> {
    const ids = changes.map(({ id }) => id);
    const found = await this.getAll(context, ids, tx);
    const written: Change<T>[] = [];
    for (const change of changes) written.push(await this.#updateOne(context, tx, found.get(change.id), change));
    const entries = written.flatMap(({ before, after }) =>
      before === after
        ? []
        : [{ ...this.#subjectOf(after), before: this.#recorded(context, before), after: this.#recorded(context, after) }],
    );
    await recordHistory(tx, context, ...entries);
    return written;
  }

  /** @returns the deleted records, in the order of the ids. */
  async removeAll(context: Context, tx: Db, ids: readonly string[], batch_id?: string): Promise<Row<T>[]> {
    const table = this.#tableOf(context);
    const deleted = await tx
      .delete(table)
      .where(inArray(table.id, [...ids]))
      .returning();
    const by_id = new Map(deleted.map((row) => [row.id, row]));
    const rows = ids.map((id) => {
      const row = by_id.get(id);
      if (row === undefined) throw this.#missing();
      return row;
    });
    const entries = rows.map((row) => ({ ...this.#subjectOf(row), before: this.#recorded(context, row), after: null, batch_id }));
    await recordHistory(tx, context, ...entries);
    return rows;
  }

  /** @param past the earlier version of a restored record, whose version number continues. */
  async insert(context: Context, tx: Db, values: RecordValues<T>, id: string, past?: EarlierVersion): Promise<Row<T>> {
    const [stored] = await this.insertAll(context, tx, [{ id, values, past }]);
    return stored as Row<T>;
  }

  /** @param expected the version that the change is based on; a different stored version is a conflict. */
  async update(
    context: Context,
    tx: Db,
    id: string,
    expected: number | undefined,
    values: Partial<RecordValues<T>>,
  ): Promise<Change<T>> {
    const [written] = await this.updateAll(context, tx, [{ id, expected, values }]);
    return written as Change<T>;
  }

  async remove(context: Context, tx: Db, id: string): Promise<Row<T>> {
    const [row] = await this.removeAll(context, tx, [id]);
    return row as Row<T>;
  }

  /** A change without values makes no version and no history entry: `before` and `after` are the same object. */
  async #updateOne(
    context: Context,
    tx: Db,
    stored: Row<T> | undefined,
    { id, expected, values }: ChangedRecord<Partial<RecordValues<T>>>,
  ): Promise<Change<T>> {
    if (stored === undefined) throw this.#missing();
    checkVersion(this.#entity_type, stored, expected, this.#label);
    // Its name may be parked, so that another record of the batch can take it.
    const parked = context.batch?.cache.parked;
    const before = (parked?.get(id) as Row<T> | undefined) ?? stored;
    parked?.delete(id);
    if (Object.keys(values).length === 0) return { before, after: before };
    const table = this.#tableOf(context);
    const change = { ...values, version: before.version + 1, updated_at: context.app.clock().toISOString() };
    const [after] = await withTakenField(this.#label, () =>
      tx
        .update(table)
        .set(change)
        .where(and(eq(table.id, id), eq(table.version, before.version)))
        .returning(),
    );
    if (after === undefined) throw new StaleVersion(this.#entity_type, id, this.#label, before.version + 1);
    return { before, after };
  }

  /** All these tables have the columns that are used here. Methods that return rows restore their type. */
  #tableOf({ app }: { readonly app: Platform }): Schema['tools'] {
    return app.store.tables[this.#table] as Schema['tools'];
  }

  #missing(): AppError {
    return new AppError('not_found', `There is no ${this.#label} with this id.`);
  }

  #recorded(context: Context, row: Row<T>): object {
    return { ...this.#toRecord(context, row) };
  }

  #subjectOf({ id, name }: Row<T>) {
    return { entity_type: this.#entity_type, entity_id: id, entity_name: name };
  }
}

/** A change is based on a version other than the stored one. */
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
  /** Absent when there is only one record of its type. */
  readonly id?: string;
  readonly version: number;
}

/** Throws `StaleVersion` when a change is based on a version other than the stored one. @param label its name in the message. */
export function checkVersion(
  type: EntityType,
  { id = type, version }: VersionOf,
  expected: number | undefined,
  label: string = type.replaceAll('_', ' '),
): void {
  if (expected !== undefined && expected !== version) throw new StaleVersion(type, id, label, version);
}

const MAX_ATTEMPTS = 20;

/** Runs a change. Without an expected version the last write wins, so the change is retried after a conflict. */
export async function retryOnConflict<T>(version: number | undefined, change: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await change();
    } catch (error) {
      // A conflict that names a field is about its value, not about a concurrent change.
      const retry = version === undefined && error instanceof AppError && error.code === 'conflict' && error.errors.length === 0;
      if (!retry || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** Fields of unique indexes, by a part of the name of the index. All others are on `name`. */
const TAKEN: readonly (readonly [part: string, field: string])[] = [
  ['client_id', 'client_id'],
  ['uri', 'uri_template'],
];

/** Turns the violation of a unique index into a `conflict` at its field. */
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

/** The fields of a stored record that a person writes, without those that the store adds. */
export function toDraft<R extends { readonly id: string; readonly version: number; readonly created_at: string }>(
  row: R,
): Omit<R, 'id' | 'version' | 'created_at' | 'updated_at'> {
  const { id: _, version: _version, created_at: _created, ...rest } = row;
  const { updated_at: _updated, ...draft } = rest as typeof rest & { readonly updated_at?: string };
  return draft as Omit<R, 'id' | 'version' | 'created_at' | 'updated_at'>;
}

/** Whether a draft changes the value of one of these fields. Unchanged fields are not checked again. */
export function changesAny(draft: object, stored: object, fields: readonly string[]): boolean {
  const [now, before] = [draft, stored] as Readonly<Record<string, unknown>>[];
  return fields.some((field) => canonical(now?.[field]) !== canonical(before?.[field]));
}

/** Adds to the conflict who changed the record and the record's name, if the history contains them. */
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
