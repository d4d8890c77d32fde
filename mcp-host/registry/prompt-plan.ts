import type { CallFacts } from '#core/query/value-sources.ts';
import type { FrozenPrompt } from '#snapshots/format/format.ts';
import { renderMessages } from '#core/lib/template/evaluate.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { promptScope } from '#core/query/values.ts';

type PromptFacts = Pick<CallFacts, 'vars' | 'caller'>;

export interface PromptPlan {
  readonly entity: FrozenPrompt;
  /** The messages with these arguments; templates are parsed when they are first used. */
  readonly render: (args: Readonly<Record<string, string>>, facts: PromptFacts) => { role: string; text: string }[];
}

export function compilePrompt(entity: FrozenPrompt): PromptPlan {
  const messages = entity.messages.map(({ role, template }) => {
    let parsed: ReturnType<typeof parseTemplate> | null = null;
    return { role, template: () => (parsed ??= parseTemplate(template)) };
  });
  return {
    entity,
    render: (args, facts) =>
      renderMessages(
        messages.map(({ role, template }) => ({ role, template: template() })),
        promptScope(args, facts),
      ),
  };
}
