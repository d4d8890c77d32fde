import type { EntityType } from '#core/contract/history.ts';
import { AppError } from '#core/errors.ts';
import type { Call } from '#ui/src/api.ts';

interface Changed {
  readonly type: EntityType;
  readonly id: string;
}

/** A change of this browser, which must be the newest one in the history. `version` is the one that it created. */
type Done =
  | { readonly action: 'update'; readonly entity: Changed; readonly version: number }
  | { readonly action: 'delete'; readonly entity: Changed }
  | { readonly action: 'import'; readonly batch_id: string | null };

/** Undoes a change through the history. Fails when a later change exists. */
export async function takeBack(call: Call, done: Done): Promise<void> {
  const { items } = await call('history.list', {
    limit: 1,
    ...(done.action === 'import' ? { action: done.action } : { entity_type: done.entity.type, entity_id: done.entity.id }),
  });
  const [newest] = items;
  const is_mine =
    newest?.action === done.action &&
    (done.action !== 'import' || newest.batch_id === done.batch_id) &&
    (done.action !== 'update' || newest.version_after === done.version);
  if (!is_mine) {
    const since = newest === undefined ? 'The record has changed since.' : `${newest.actor.name} changed ${newest.entity_name} since.`;
    throw new AppError('conflict', `${since} The history shows what can be restored.`);
  }
  const { id, version_after } = newest;
  await call('history.rollback', { history_id: id, ...(version_after === null ? {} : { version: version_after }) });
}
