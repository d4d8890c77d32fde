import type { EntityKind } from '#core/contract/entities.ts';
import type { Call } from '#ui/src/api.ts';

interface Taken {
  readonly action: 'update' | 'delete' | 'import';
  /** The record that it has to be the newest change of; absent: the newest one of all. */
  readonly entity?: { readonly type: EntityKind; readonly id: string };
}

/** Takes a change back through the history. False when something else came after it. */
export async function takeBack(call: Call, { action, entity }: Taken): Promise<boolean> {
  const { items } = await call('history.list', {
    limit: 1,
    ...(entity === undefined ? { action } : { entity_type: entity.type, entity_id: entity.id }),
  });
  const [newest] = items;
  if (newest?.action !== action) return false;
  await call('history.rollback', { history_id: newest.id });
  return true;
}
