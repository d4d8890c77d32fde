import { and, desc, eq, gte } from 'drizzle-orm';
import { type EntityKind, kindOf } from '#core/contract/entities.ts';
import type { AppError, ErrorCode } from '#core/errors.ts';
import { entityTable } from '#core/store/entity-table.ts';
import type { Context } from '#core/run.ts';
import { CONFIG_ID, readSettings } from '../settings/config.ts';
import { recordHistory } from '#core/observe/history.ts';
import { emitNotice } from '#core/observe/notices/emit.ts';

/** Refusals by a control, which leave an entry in the history (contract section 1). */
const CONTROLS: readonly ErrorCode[] = ['private_network_blocked', 'passthrough_sql_blocked', 'prompt_injection_blocked'];

const REPEATS_MS = 60_000;

/**
 * Notes that a control refused a write: the entity's name, the fields and the rules, never the text. The same refusal of the
 * same caller within a minute is counted in one entry.
 */
export async function recordBlocked(
  context: Context,
  operation: string,
  input: Readonly<Record<string, unknown>>,
  refusal: AppError,
): Promise<void> {
  const noun = operation.split('.')[0] ?? '';
  const entity_type = noun === 'config' ? CONFIG_ID : kindOf(noun);
  if (!CONTROLS.includes(refusal.code) || entity_type === undefined) return;
  const { app, actor } = context;
  const { history } = app.store.tables;
  const { entity_id, entity_name } = await entityOf(context, entity_type, input);
  const what = { code: refusal.code, fields: refusal.errors.map(({ field }) => field), rules: refusal.reason?.split(', ') ?? [] };
  await app.store.write(async (tx) => {
    const since = new Date(app.clock().getTime() - REPEATS_MS).toISOString();
    const recent = await tx
      .select()
      .from(history)
      .where(and(eq(history.action, 'blocked'), eq(history.entity_name, entity_name), gte(history.created_at, since)))
      .orderBy(desc(history.id))
      .limit(20);
    const same = recent.find((row) => {
      const { count: _, ...stored } = row.after ?? {};
      return (
        row.entity_type === entity_type && row.actor.id === (actor?.id ?? null) && JSON.stringify(stored) === JSON.stringify(what)
      );
    });
    if (same === undefined) {
      await recordHistory(tx, context, {
        entity_type,
        entity_id,
        entity_name,
        action: 'blocked',
        before: null,
        after: { ...what, count: 1 },
      });
      const by = actor?.name ?? 'system';
      await emitNotice(app, 'guard_hit', { ...what, entity_type, entity_name, by }, tx);
      return;
    }
    const after = { ...what, count: Number(same.after?.['count'] ?? 1) + 1 };
    await tx.update(history).set({ after }).where(eq(history.id, same.id));
  });
}

/** A change names its entity by id alone: then the name is the stored one. */
async function entityOf(
  { app }: Context,
  entity_type: EntityKind | typeof CONFIG_ID,
  { id, name }: Readonly<Record<string, unknown>>,
): Promise<{ entity_id: string; entity_name: string }> {
  const shortened = (text: unknown) => (typeof text === 'string' ? text.slice(0, 64) : '');
  if (entity_type === CONFIG_ID) return { entity_id: CONFIG_ID, entity_name: (await readSettings(app)).settings.server_name };
  if (typeof id !== 'string') return { entity_id: '', entity_name: shortened(name) };
  const table = entityTable(app.store, entity_type);
  const [stored] = await app.store.db.select({ name: table.name }).from(table).where(eq(table.id, id)).limit(1);
  return { entity_id: id, entity_name: shortened(stored?.name ?? name) };
}
