import type { Prompt, PromptDraft } from '#core/contract/prompts.ts';
import { NewEntity } from '#ui/src/components/builder/new-entity.tsx';
import { blankPrompt, toPromptDraft } from '#ui/src/kernel/builder-drafts.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { PromptBuilder } from './prompt-builder.tsx';
import { PROMPT_WORDS as WORDS } from './words.ts';

/** A prompt that is not stored yet. */
export function NewPrompt() {
  const { call } = useKernel();
  return (
    <NewEntity<PromptDraft, Prompt>
      noun="prompts"
      words={WORDS}
      copy={async (id, signal) => {
        const draft = toPromptDraft(await call('prompts.get', { id }, signal));
        return { ...draft, name: `${draft.name.slice(0, 59)}_copy` };
      }}
      blank={blankPrompt}
      builder={(parts) => (
        <PromptBuilder connections={parts.connections} tags={parts.tags} initial={parts.initial} onSaved={parts.onSaved} />
      )}
    />
  );
}
