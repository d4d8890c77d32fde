import type { PromptDraft } from '#core/contract/definitions/prompts.ts';
import { NewEntity } from '#ui/src/features/builder/definitions/new-entity.tsx';
import { blankPrompt, toPromptDraft } from '#ui/src/features/builder/drafts.ts';
import type { Read } from '#ui/src/kernel/data/cache.ts';
import { PromptBuilder } from './prompt-builder.tsx';

/** A prompt that is not stored yet. */
export function NewPrompt() {
  const copy = async (read: Read, id: string): Promise<PromptDraft> => {
    const draft = toPromptDraft(await read('prompts.get', { id }));
    return { ...draft, name: `${draft.name.slice(0, 59)}_copy` };
  };
  return (
    <NewEntity<PromptDraft> noun="prompts" copy={copy} blank={blankPrompt} builder={(parts) => <PromptBuilder {...parts} />} />
  );
}
