import { eq, inArray } from 'drizzle-orm';
import type { TestOwner } from '#core/contract/definitions/tests.ts';
import type { OwnedKind } from '#core/contract/entities.ts';
import { entityTable } from '#core/store/entity-table.ts';
import { lockEntityWrites } from '#core/store/journal.ts';
import type { Db } from '#core/store/store.ts';
import { invalidField } from '#core/errors.ts';
import type { Context } from '#core/context/context.ts';
import type { ConnectionRow } from '#core/sources/source-pool.ts';

/** Names of connections, by id. */
export async function connectionNames({ app }: Context, ids: readonly string[]): Promise<Map<string, string>> {
  const { connections: table } = app.store.tables;
  const unique_ids = [...new Set(ids)];
  if (unique_ids.length === 0) return new Map();
  const rows = await app.store.db.select({ id: table.id, name: table.name }).from(table).where(inArray(table.id, unique_ids));
  return new Map(rows.map((row) => [row.id, row.name]));
}

/** The connection of a draft. Throws at the field when it does not exist. Run again in the transaction of the write: it may be deleted. */
export async function ownerOf(context: Context, connection_id: string, tx: Db = context.app.store.db): Promise<ConnectionRow> {
  const planned = context.batch?.connections.get(connection_id);
  if (planned !== undefined) return planned;
  const { store } = context.app;
  const known = tx === store.db ? context.batch?.cache.owners?.get(connection_id) : undefined;
  if (known !== undefined) return known;
  if (tx !== store.db) await lockEntityWrites(store, tx);
  const rows = await tx.select().from(store.tables.connections).where(eq(store.tables.connections.id, connection_id));
  if (rows[0] === undefined)
    throw invalidField('connection_id', 'The connection does not exist. It may have been deleted; choose another one.');
  return rows[0];
}

/** The definitions of one kind that belong to a connection. */
export function ownedBy(
  { app }: Context,
  tx: Db,
  kind: OwnedKind,
  connection_id: string,
): Promise<{ id: string; name: string }[]> {
  const table = entityTable(app.store, kind);
  return tx.select({ id: table.id, name: table.name }).from(table).where(eq(table.connection_id, connection_id));
}

/** The definition of a test; null when the same batch is about to write it. Throws at the field when it does not exist. */
export async function testedOf(
  context: Context,
  { kind, id }: TestOwner,
  tx: Db = context.app.store.db,
): Promise<{ id: string; name: string } | null> {
  if (context.batch?.cache.planned?.has(id) === true) return null;
  const { store } = context.app;
  if (tx !== store.db) await lockEntityWrites(store, tx);
  const table = entityTable(store, kind);
  const [row] = await tx.select({ id: table.id, name: table.name }).from(table).where(eq(table.id, id));
  if (row === undefined) throw invalidField('owner.id', `owner.id does not match any ${kind}.`);
  return row;
}
