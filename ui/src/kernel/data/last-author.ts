import type { EntityType } from '#core/contract/history.ts';
import type { Call } from '#ui/src/api.ts';

/** A record as the history knows it. */
export interface Recorded {
  readonly type: EntityType;
  readonly id: string;
}

const LOOKED_AT = 5;

/** Who changed a record last; undefined when the history does not say. */
export async function lastAuthor(call: Call, { type, id }: Recorded): Promise<string | undefined> {
  const found = await call('history.list', { entity_type: type, entity_id: id, limit: LOOKED_AT }).catch(() => undefined);
  return found?.items.find(({ action }) => action !== 'blocked')?.actor.name;
}
