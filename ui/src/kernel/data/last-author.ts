import type { Plural } from '#core/contract/entities.ts';
import type { EntityType } from '#core/contract/history.ts';
import { AppError } from '#core/errors.ts';
import type { Call } from '#ui/src/api.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';

/** A record as the history knows it. */
export interface Recorded {
  readonly type: EntityType;
  readonly id: string;
}

const LOOKED_AT = 5;

/** Who changed a record last, and what it was called then; undefined when the history does not say. */
export async function lastAuthor(
  call: Call,
  { type, id }: Recorded,
): Promise<{ by: string; name: string; version: number | null } | undefined> {
  const found = await call('history.list', { entity_type: type, entity_id: id, limit: LOOKED_AT }).catch(() => undefined);
  const newest = found?.items.find(({ action }) => action !== 'blocked');
  return newest && { by: newest.actor.name, name: newest.entity_name, version: newest.version_after };
}

type Seen = Recorded & { readonly version: number };

/** Does something with a record as a person has seen it. When somebody changed it since, the refusal says who. */
export async function asSeen<T>(
  call: Call,
  { type, id, version }: Seen,
  kept: 'left as it is' | 'not deleted',
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (fault) {
    if (toProblem(fault).code !== 'conflict') throw fault;
    const last = await lastAuthor(call, { type, id });
    if (last === undefined || last.version === version) throw fault;
    throw new AppError('conflict', `${last.by} changed ${last.name} in the meantime, so it was ${kept}. Look at it again first.`);
  }
}

export const deleteSeen = (call: Call, plural: Plural, seen: Seen) =>
  asSeen(call, seen, 'not deleted', () => call(`${plural}.delete`, { id: seen.id, version: seen.version }));
