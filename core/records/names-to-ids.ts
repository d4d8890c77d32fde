import type { Platform } from '#core/platform/platform.ts';
import { and, desc, eq, inArray, or } from 'drizzle-orm';
import { type EntityKind, ENTITY_KINDS, kindOf } from '#core/contract/entities.ts';
import { OF_DEFINITIONS } from '#core/contract/history.ts';
import { entityTable } from '#core/store/entity-table.ts';
import type { OperationName } from '#core/contract/index.ts';
import { AppError, invalidField } from '#core/errors.ts';

type Input = Readonly<Record<string, unknown>>;

/** The kind whose id a field contains. Agents may write the unique name instead. */
const namedIn = (field: string): EntityKind | undefined => ENTITY_KINDS.find((kind) => field === `${kind}_id`);

/**
 * Replaces names in an input by ids. A name without a record stays, and the operation reports it.
 * @param past the app whose history contains the entry that a rollback names.
 */
export async function resolveNames(app: Platform, operation: OperationName, input: Input, past = app): Promise<Input> {
  const noun = operation.split('.')[0] ?? '';
  const resolve = filters(operation) ? existingId : idOf;
  const resolved: Record<string, unknown> = { ...input };
  for (const [field, value] of Object.entries(input)) {
    const kind = field === 'id' ? kindOf(noun) : namedIn(field);
    if (kind !== undefined) resolved[field] = await resolve(app, kind, value);
    if ((field === 'include' || field === 'exclude') && isRecord(value)) resolved[field] = await resolveSelection(app, value);
    if (field === 'owner' && isRecord(value)) {
      const owned = ENTITY_KINDS.find((known) => known === value['kind']);
      if (owned !== undefined) resolved[field] = { ...value, id: await resolve(app, owned, value['id']) };
    }
    if (field === 'owner' && typeof value === 'string') {
      const owned = ENTITY_KINDS.find((known) => value.startsWith(`${known}:`));
      if (owned !== undefined) resolved[field] = `${owned}:${await existingId(app, owned, value.slice(owned.length + 1))}`;
    }
    if (operation === 'tests.run' && field === 'ids' && Array.isArray(value)) {
      resolved[field] = await Promise.all(value.map((item: unknown) => idOf(app, 'test', item)));
    }
    if (field === 'tools' && Array.isArray(value)) {
      resolved[field] = await Promise.all(value.map((item) => (isRecord(item) ? resolveNames(app, operation, item) : item)));
    }
  }
  const kind = ENTITY_KINDS.find((known) => known === input['entity_type']);
  if (kind !== undefined) resolved['entity_id'] = await idOf(app, kind, input['entity_id']);
  if ('history_id' in input) resolved['history_id'] = await entryOf(past, input['history_id']);
  return resolved;
}

/** Operations that filter by the name, and would answer an empty list for an unknown one. */
const filters = (operation: OperationName): boolean => /\.list$|^agent\.list_tools$|^tests\.run$/.test(operation);

const isRecord = (value: unknown): value is Input => typeof value === 'object' && value !== null;

/** Lists of ids, such as `tool_ids`, in the rules of a toolset. */
async function resolveSelection(app: Platform, selection: Input): Promise<Input> {
  const resolved: Record<string, unknown> = { ...selection };
  for (const [list, values] of Object.entries(selection)) {
    const kind = ENTITY_KINDS.find((known) => list === `${known}_ids`);
    if (kind !== undefined && Array.isArray(values)) {
      resolved[list] = await Promise.all(values.map((value: unknown) => idOf(app, kind, value)));
    }
  }
  return resolved;
}

const idOf = async (app: Platform, kind: EntityKind, value: unknown): Promise<unknown> =>
  typeof value === 'string' ? ((await foundId(app, kind, value)) ?? value) : value;

async function existingId<T>(app: Platform, kind: EntityKind, value: T): Promise<T | string> {
  if (typeof value !== 'string') return value;
  const id = await foundId(app, kind, value);
  if (id === undefined) throw new AppError('not_found', `There is no ${kind} with this id or name.`);
  return id;
}

async function foundId(app: Platform, kind: EntityKind, value: string): Promise<string | undefined> {
  const table = entityTable(app.store, kind);
  const rows = await app.store.db
    .select({ id: table.id })
    .from(table)
    .where(or(eq(table.id, value), eq(table.name, value)));
  return rows.find(({ id }) => id === value)?.id ?? rows[0]?.id;
}

/** @param value an id, the batch_id of a deletion or an import, or the name of a record with only one entry. @returns the id. */
async function entryOf(app: Platform, value: unknown): Promise<unknown> {
  if (typeof value !== 'string') return value;
  const { history } = app.store.tables;
  const rows = await app.store.db
    .select({ id: history.id, batch_id: history.batch_id, entity_type: history.entity_type })
    .from(history)
    .where(
      and(
        inArray(history.entity_type, [...OF_DEFINITIONS]),
        or(eq(history.id, value), eq(history.entity_name, value), eq(history.batch_id, value)),
      ),
    )
    .orderBy(desc(history.id));
  if (rows.some(({ id }) => id === value)) return value;
  const batch = rows.filter(({ batch_id }) => batch_id === value);
  // The newest entry of a deletion is the record itself, and restoring it restores what was deleted with it. For an import, any entry does.
  const main = batch.find(({ entity_type }) => entity_type === 'connection') ?? batch[0];
  if (main !== undefined) return main.id;
  if (rows.length < 2) return rows[0]?.id ?? value;
  throw invalidField('history_id', 'history_id matches a record with several entries. Use the id of one from list_history.');
}
