import type { OwnedKind, Plural } from '#core/contract/entities.ts';
import type { Toolset } from '#core/contract/definitions/toolsets.ts';
import { MOST_AT_ONCE } from '#core/contract/fields.ts';
import type { RawInput } from '#core/contract/index.ts';
import type { Call } from '#ui/src/api.ts';
import { takeBack } from '#ui/src/kernel/data/take-back.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';

export type EntityNoun = Plural<OwnedKind>;
export const ENTITY_TYPE = { tools: 'tool', resources: 'resource', prompts: 'prompt' } as const;

/** An entity as lists have it. */
export interface Entity {
  readonly id: string;
  readonly name: string;
  readonly title: string | null;
  readonly description: string;
  readonly enabled: boolean;
  readonly tags: readonly string[];
  readonly version: number;
  readonly updated_at: string;
  readonly connection_id: string | null;
  readonly connection_name: string | null;
}

/** Result of a bulk change. */
export interface BulkResult {
  readonly done: readonly string[];
  /** The first error, and the number of failures. */
  readonly failed: number;
  readonly detail: string | undefined;
  /** Undoes the changes; absent when nothing was changed. */
  readonly undo?: () => Promise<BulkResult>;
}

interface Bulk {
  setEnabled(entities: readonly Entity[], enabled: boolean): Promise<BulkResult>;
  addTags(entities: readonly Entity[], tags: readonly string[]): Promise<BulkResult>;
  removeTags(entities: readonly Entity[], tags: readonly string[]): Promise<BulkResult>;
  remove(entities: readonly Entity[]): Promise<BulkResult>;
}

/** Concurrent requests: a browser opens six to a server, and the page needs one. */
const AT_ONCE = 4;

/** Bulk changes of entities. Entities that were changed by another person since are skipped. */
export function createBulk(call: Call, noun: EntityNoun): Bulk {
  const kind = ENTITY_TYPE[noun];

  /** Writes `after` to each entity that differs from it; undo restores the previous values. */
  const rewrite = async (entities: readonly Entity[], after: (entity: Entity) => { enabled?: boolean; tags?: string[] }) => {
    const { versions, ...result } = await updateMany(
      call,
      kind,
      entities.map((entity) => ({ id: entity.id, version: entity.version, ...after(entity) })),
    );
    const undo = () =>
      updateMany(
        call,
        kind,
        entities.flatMap((entity) => {
          const version = versions.get(entity.id);
          const before = 'tags' in after(entity) ? { tags: [...entity.tags] } : { enabled: entity.enabled };
          return version === undefined ? [] : [{ id: entity.id, version, ...before }];
        }),
      );
    return versions.size === 0 ? result : { ...result, undo };
  };

  return {
    setEnabled: (entities, enabled) =>
      rewrite(
        entities.filter((entity) => entity.enabled !== enabled),
        () => ({ enabled }),
      ),
    addTags: (entities, tags) =>
      rewrite(
        entities.filter((entity) => tags.some((tag) => !entity.tags.includes(tag))),
        (entity) => ({ tags: [...new Set([...entity.tags, ...tags])] }),
      ),
    removeTags: (entities, tags) =>
      rewrite(
        entities.filter((entity) => tags.some((tag) => entity.tags.includes(tag))),
        (entity) => ({ tags: entity.tags.filter((tag) => !tags.includes(tag)) }),
      ),
    async remove(entities) {
      const result = await each(entities, async ({ id, version }) => void (await call(`${noun}.delete`, { id, version })));
      const removed = entities.filter(({ id }) => result.done.includes(id));
      if (removed.length === 0) return result;
      const back = ({ id }: Entity) => takeBack(call, { action: 'delete', entity: { type: ENTITY_TYPE[noun], id } });
      return { ...result, undo: () => each(removed, back) };
    },
  };
}

/** Uses as few requests as the batch limit of the server allows. */
export async function updateMany(
  call: Call,
  kind: RawInput<'definitions.update'>['kind'],
  items: RawInput<'definitions.update'>['items'],
): Promise<BulkResult & { readonly versions: ReadonlyMap<string, number> }> {
  const versions = new Map<string, number>();
  const faults: string[] = [];
  for (let at = 0; at < items.length; at += MOST_AT_ONCE) {
    const part = items.slice(at, at + MOST_AT_ONCE);
    try {
      const answer = await call('definitions.update', { kind, items: part });
      for (const { id, version } of answer.items) versions.set(id, version);
      faults.push(...answer.errors.map(({ error }) => error));
    } catch (fault) {
      faults.push(...part.map(() => toProblem(fault).detail));
    }
  }
  return { done: [...versions.keys()], failed: faults.length, detail: faults[0], versions };
}

async function each<E extends { readonly id: string }>(
  entities: readonly E[],
  work: (entity: E) => Promise<void>,
): Promise<BulkResult> {
  const done: string[] = [];
  const faults: string[] = [];
  const waiting = [...entities];
  const worker = async () => {
    for (let entity = waiting.shift(); entity !== undefined; entity = waiting.shift()) {
      try {
        await work(entity);
        done.push(entity.id);
      } catch (fault) {
        faults.push(toProblem(fault).detail);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { done, failed: faults.length, detail: faults[0] };
}

/** The rule of a toolset with these definitions added. */
export function including({ include }: Pick<Toolset, 'include'>, noun: EntityNoun, ids: readonly string[]): Toolset['include'] {
  const list = `${ENTITY_TYPE[noun]}_ids` as const;
  return { ...include, [list]: [...new Set([...include[list], ...ids])] };
}
