import type { PromptDraft } from '#core/contract/prompts.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { AppError, type FieldError, invalidField } from '#core/errors.ts';
import type { Context } from '#core/run.ts';
import { guardDraft } from './guard/guard.ts';
import { createOwned, type Judge } from './owned.ts';
import { ownerOf } from './owners.ts';
import { atField } from './statements.ts';

export const prompt = createOwned<'prompt', PromptDraft>('prompt', {
  checked: ['connection_id', 'arguments', 'template', 'messages'],
  check: async (context, draft, judge) => ({ values: await preparePrompt(context, draft, judge), compiled: null }),
  unchecked: (draft) => draft,
});

/** Everything that must hold before a prompt is stored. */
export async function preparePrompt(context: Context, draft: PromptDraft, judge: Judge = guardDraft): Promise<PromptDraft> {
  if (draft.connection_id !== null) await ownerOf(context, draft.connection_id);
  const faults = argumentFaults(draft);
  if (faults.length > 0) throw new AppError('invalid', faults.map(({ message }) => message).join(' '), { errors: faults });
  if ((draft.template === null) === (draft.messages === null)) {
    throw invalidField('template', 'A prompt has either a template or messages. Send one of them.');
  }
  await judge(context, 'prompt', draft);
  if (draft.template !== null) atField('template', () => parseTemplate(draft.template ?? ''));
  for (const [n, { template }] of (draft.messages ?? []).entries())
    atField(`messages.${n}.template`, () => parseTemplate(template));
  return draft;
}

const argumentFaults = ({ arguments: list }: PromptDraft): FieldError[] =>
  list.flatMap(({ name }, n) =>
    list.findIndex((other) => other.name === name) === n
      ? []
      : [{ field: `arguments.${n}.name`, message: `The argument ${name} is declared twice.` }],
  );
