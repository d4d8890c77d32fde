import type { Platform } from '#core/platform/platform.ts';
import { desc, eq } from 'drizzle-orm';
import { lockEntityWrites } from '#core/store/journal.ts';
import type { Db } from '#core/store/store.ts';
import { readPage } from '#core/store/pages.ts';
import type { Schema } from '#core/store/schema.ts';
import { AppError } from '#core/errors.ts';
import type { Context } from '#core/context/context.ts';
import { recordHistory } from '#core/records/history.ts';

type Table = 'agent_tokens' | 'agent_clients' | 'mcp_tokens';
type Row<Name extends Table> = Schema[Name]['$inferSelect'];

export interface CredentialKind<Name extends Table, Shown> {
  readonly table: Name;
  readonly entity_type: 'agent_token' | 'oauth_client' | 'mcp_token';
  /** The name of the credential in sentences, with its article. */
  readonly label: string;
  /** Omits digests and secrets. */
  readonly show: (row: Row<Name>) => Shown;
}

/** Additional work in the transaction of a change. */
type Also = (tx: Db) => Promise<void>;
const nothing: Also = async () => undefined;

/** Lists, stores and revokes credentials of one type, with entries in the history. */
export function createCredentials<Name extends Table, Shown extends Record<string, unknown>>({
  table: name,
  entity_type,
  label,
  show,
}: CredentialKind<Name, Shown>) {
  // All of these tables have the columns that are read here. The results have the type of the actual table.
  const tableOf = ({ store }: Platform): Schema['agent_tokens'] => store.tables[name] as Schema['agent_tokens'];
  const find = async (tx: Db, table: Schema['agent_tokens'], id: string): Promise<Row<Name>> => {
    const [row] = (await tx.select().from(table).where(eq(table.id, id))) as Row<Name>[];
    if (row === undefined) throw new AppError('not_found', `There is no ${label} with this id.`);
    return row;
  };
  const record = (tx: Db, context: Context, before: Row<Name> | null, after: Row<Name> | null): Promise<void> => {
    const { id: entity_id = '', name: entity_name = '' } = after ?? before ?? {};
    const shown = { before: before && show(before), after: after && show(after) };
    return recordHistory(tx, context, { entity_type, entity_id, entity_name, ...shown });
  };

  return {
    list: async ({ app }: Context, { skip, limit }: { readonly skip: number; readonly limit: number }) => {
      const table = tableOf(app);
      // Ids grow with time.
      const { rows, total } = await readPage(app.store.db, table, { order: [desc(table.id)], skip, limit });
      return { items: rows.map((row) => show(row as Row<Name>)), total };
    },
    async add(context: Context, row: Row<Name>, also = nothing): Promise<Shown> {
      await context.app.store.write(async (tx) => {
        await also(tx);
        await tx.insert(tableOf(context.app)).values(row as Row<'agent_tokens'>);
        await record(tx, context, null, row);
      });
      return show(row);
    },
    /** Gives a credential another secret. @param changed the columns of the new one. Revoked credentials cannot change. */
    async rotate(
      context: Context,
      id: string,
      changed: (row: Row<Name>) => Promise<Partial<Row<Name>>>,
      also = nothing,
    ): Promise<Shown> {
      const table = tableOf(context.app);
      return context.app.store.write(async (tx) => {
        await lockEntityWrites(context.app.store, tx);
        const row = await find(tx, table, id);
        if (row.revoked) throw new AppError('conflict', `This ${label} is revoked and cannot be rotated.`);
        const change = await changed(row);
        const after = { ...row, ...change };
        await tx
          .update(table)
          .set(change as Partial<Row<'agent_tokens'>>)
          .where(eq(table.id, id));
        await also(tx);
        await record(tx, context, row, after);
        return show(after);
      });
    },
    /** Revoking twice is allowed. @param more columns that change too. */
    async revoke(context: Context, id: string, also = nothing, more: Partial<Row<Name>> = {}): Promise<void> {
      const table = tableOf(context.app);
      await context.app.store.write(async (tx) => {
        const row = await find(tx, table, id);
        if (row.revoked) return;
        await tx
          .update(table)
          .set({ ...(more as Partial<Row<'agent_tokens'>>), revoked: true })
          .where(eq(table.id, id));
        await also(tx);
        await record(tx, context, row, null);
      });
    },
  };
}
