import type { Prompt } from '#core/contract/definitions/prompts.ts';
import { AccessLink } from '#ui/src/features/builder/definitions/access-link.tsx';
import { TokenBadge } from '#ui/src/features/builder/definitions/token-badge.tsx';
import { StoredEntity } from '#ui/src/features/builder/definitions/stored-entity.tsx';
import { useParams } from '#ui/src/components/shell/route-context.ts';
import { toPromptDraft } from '#ui/src/features/builder/drafts.ts';
import { PromptBuilder } from './prompt-builder.tsx';

/** One stored prompt. */
export function PromptPage() {
  const { id = '' } = useParams();
  return (
    <StoredEntity<Prompt>
      noun="prompts"
      id={id}
      load={(read, prompt_id) => read('prompts.get', { id: prompt_id })}
      badges={({ tokens }) => (
        <>
          <TokenBadge tokens={tokens} list="prompts" />
          <AccessLink />
        </>
      )}
      menu={(prompt) => [{ label: 'Duplicate', icon: 'copy', href: `/prompts/new?from=${prompt.id}` }]}
      builder={(parts) => <PromptBuilder {...parts} initial={toPromptDraft(parts.entity)} />}
    />
  );
}
