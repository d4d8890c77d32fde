import type { PromptDraft } from '#core/contract/prompts.ts';
import { NewEntity } from '#ui/src/components/builder/new-entity.tsx';
import { blankPrompt, toPromptDraft } from '#ui/src/kernel/builder-drafts.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { PromptBuilder } from './prompt-builder.tsx';
import { PROMPT_WORDS as WORDS } from './words.ts';

/** A prompt that is not stored yet. */
export function NewPrompt() {
  const { call } = useKernel();
  const copy = async (id: string, signal: AbortSignal): Promise<PromptDraft> => {
    const draft = toPromptDraft(await call('prompts.get', { id }, signal));
    return { ...draft, name: `${draft.name.slice(0, 59)}_copy` };
  };
  return (
    <NewEntity<PromptDraft>
      noun="prompts"
      words={WORDS}
      copy={copy}
      blank={blankPrompt}
      builder={(parts) => (
        <PromptBuilder connections={parts.connections} tags={parts.tags} initial={parts.initial} onSaved={parts.onSaved} />
      )}
    />
  );
}
