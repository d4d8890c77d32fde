import type { Resource } from '#core/contract/definitions/resources.ts';
import { AccessLink } from '#ui/src/features/builder/definitions/access-link.tsx';
import { TokenBadge } from '#ui/src/features/builder/definitions/token-badge.tsx';
import { StoredEntity } from '#ui/src/features/builder/definitions/stored-entity.tsx';
import { useParams } from '#ui/src/components/shell/route-context.ts';
import { toResourceDraft } from '#ui/src/features/builder/drafts.ts';
import { ResourceBuilder } from './resource-builder.tsx';

/** One stored resource. */
export function ResourcePage() {
  const { id = '' } = useParams();
  return (
    <StoredEntity<Resource>
      noun="resources"
      id={id}
      load={(read, resource_id) => read('resources.get', { id: resource_id })}
      badges={({ tokens }) => (
        <>
          <TokenBadge tokens={tokens} list="resources" />
          <AccessLink />
        </>
      )}
      menu={(resource) => [{ label: 'Duplicate', icon: 'copy', href: `/resources/new?from=${resource.id}` }]}
      builder={(parts) => <ResourceBuilder {...parts} initial={toResourceDraft(parts.entity)} />}
    />
  );
}
