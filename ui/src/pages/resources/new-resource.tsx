import type { ResourceDraft } from '#core/contract/definitions/resources.ts';
import { NewEntity } from '#ui/src/features/builder/definitions/new-entity.tsx';
import { blankResource, toResourceDraft } from '#ui/src/features/builder/drafts.ts';
import type { Read } from '#ui/src/kernel/data/cache.ts';
import { ResourceBuilder } from './resource-builder.tsx';

/** A resource that is not stored yet. */
export function NewResource() {
  const copy = async (read: Read, id: string): Promise<ResourceDraft> => {
    const draft = toResourceDraft(await read('resources.get', { id }));
    return { ...draft, name: `${draft.name.slice(0, 59)}_copy`, uri_template: `${draft.uri_template}/copy` };
  };
  return (
    <NewEntity<ResourceDraft>
      noun="resources"
      copy={copy}
      blank={blankResource}
      builder={(parts) => <ResourceBuilder {...parts} />}
    />
  );
}
