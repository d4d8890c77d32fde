import type { Platform } from '#core/platform/platform.ts';
import { sql } from 'drizzle-orm';
import type { CallGroup } from '#core/contract/observe/usage-batch.ts';
import { laterOf, rowsOf } from '#core/store/columns.ts';
import type { Db } from '#core/store/store.ts';
import { callerColumns, callerKey } from '#core/observe/sessions/mcp-sessions.ts';
import type { Cell } from '../count-calls.ts';

/** @returns the id of the caller of each group. Stores new callers. */
export async function storeCallers(
  app: Platform,
  tx: Db,
  groups: readonly CallGroup[],
  cells: readonly Cell[],
): Promise<number[]> {
  const { usage_callers: table } = app.store.tables;
  const keys = groups.map(callerKey);
  const last = new Map<string, number>();
  for (const { group, last_ms } of cells) {
    const key = keys[group] ?? '';
    last.set(key, Math.max(last.get(key) ?? 0, last_ms));
  }
  const found = new Map(groups.map((one, index) => [keys[index] ?? '', one] as const).filter(([key]) => last.has(key)));
  const callers = [...found];
  const added = rowsOf(app.store.dialect, 'added', {
    key: { type: 'text', cells: callers.map(([key]) => key) },
    ...callerColumns(callers.map(([, group]) => group)),
    last_at: { type: 'time', cells: callers.map(([key]) => last.get(key) ?? 0) },
  });
  // An existing row keeps its id. Taking a new one for every batch would use up the ids within months.
  const stored_id = '(select stored.id from usage_callers as stored where stored.key = added.key)';
  const id = app.store.dialect === 'sqlite' ? 'null' : `coalesce(${stored_id}, nextval('usage_callers_id_seq'))`;
  const columns = `${id}, key, client, token_prefix, person, token, client_id, last_at`;
  const stored = await tx
    .insert(table)
    .select(sql`with recursive ${added} select ${sql.raw(columns)} from added where true`)
    .onConflictDoUpdate({
      target: table.key,
      set: { last_at: laterOf(table.last_at) },
    })
    .returning({ id: table.id, key: table.key });
  const ids = new Map(stored.map((row) => [row.key, row.id]));
  return keys.map((key) => ids.get(key) ?? 0);
}
