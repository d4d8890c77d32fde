import type { Prompt } from '#core/contract/prompts.ts';
import { StoredEntity } from '#ui/src/components/builder/stored-entity.tsx';
import { useParams } from '#ui/src/components/route-context.ts';
import { toPromptDraft } from '#ui/src/kernel/builder-drafts.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { PromptBuilder } from './prompt-builder.tsx';
import { PROMPT_WORDS as WORDS } from './words.ts';

/** One stored prompt. */
export function PromptPage() {
  const { call } = useKernel();
  const { id = '' } = useParams();
  return (
    <StoredEntity<Prompt>
      noun="prompts"
      id={id}
      icon="message"
      words={WORDS}
      load={(wanted, signal) => call('prompts.get', { id: wanted }, signal)}
      menu={(prompt) => [{ label: WORDS.copy, icon: 'copy', href: `/prompts/new?from=${prompt.id}` }]}
      builder={(parts) => (
        <PromptBuilder
          connections={parts.connections}
          tags={parts.tags}
          prompt={parts.entity}
          initial={toPromptDraft(parts.entity)}
          onSaved={parts.onSaved}
        />
      )}
    />
  );
}
