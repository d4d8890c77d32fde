import type { ResourceDraft } from '#core/contract/resources.ts';
import { NewEntity } from '#ui/src/components/builder/new-entity.tsx';
import { blankResource, toResourceDraft } from '#ui/src/kernel/builder-drafts.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { ResourceBuilder } from './resource-builder.tsx';
import { RESOURCE_WORDS as WORDS } from './words.ts';

/** A resource that is not stored yet. */
export function NewResource() {
  const { call } = useKernel();
  const copy = async (id: string, signal: AbortSignal): Promise<ResourceDraft> => {
    const draft = toResourceDraft(await call('resources.get', { id }, signal));
    return { ...draft, name: `${draft.name.slice(0, 59)}_copy`, uri_template: `${draft.uri_template}/copy` };
  };
  return (
    <NewEntity<ResourceDraft>
      noun="resources"
      words={WORDS}
      copy={copy}
      blank={blankResource}
      builder={(parts) => (
        <ResourceBuilder connections={parts.connections} tags={parts.tags} initial={parts.initial} onSaved={parts.onSaved} />
      )}
    />
  );
}
