import type { Resource } from '#core/contract/resources.ts';
import { StoredEntity } from '#ui/src/components/builder/stored-entity.tsx';
import { useParams } from '#ui/src/components/route-context.ts';
import { toResourceDraft } from '#ui/src/kernel/builder-drafts.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { ResourceBuilder } from './resource-builder.tsx';
import { RESOURCE_WORDS as WORDS } from './words.ts';

/** One stored resource. */
export function ResourcePage() {
  const { call } = useKernel();
  const { id = '' } = useParams();
  return (
    <StoredEntity<Resource>
      noun="resources"
      id={id}
      icon="file"
      words={WORDS}
      load={(wanted, signal) => call('resources.get', { id: wanted }, signal)}
      menu={(resource) => [{ label: WORDS.copy, icon: 'copy', href: `/resources/new?from=${resource.id}` }]}
      builder={(parts) => (
        <ResourceBuilder
          connections={parts.connections}
          tags={parts.tags}
          resource={parts.entity}
          initial={toResourceDraft(parts.entity)}
          onSaved={parts.onSaved}
        />
      )}
    />
  );
}
