import type { PromptDraft } from '#core/contract/definitions/prompts.ts';
import { estimateTokens } from '#core/lib/tokens.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { type FieldError, invalidField, refuseFields } from '#core/errors.ts';
import type { Context } from '#core/context/context.ts';
import { freezePrompt } from '#snapshots/freeze/entities.ts';
import { guardDraft } from '#core/records/prompt-guard.ts';
import { createOwned, type GuardCheck } from './owned.ts';
import { ownerOf } from './owners.ts';
import { atField } from '#core/sources/statements.ts';

export const prompt = createOwned<'prompt', PromptDraft>('prompt', {
  checked: ['connection_id', 'arguments', 'template', 'messages'],
  async check(context, draft, checkGuard) {
    const values = await preparePrompt(context, draft, checkGuard);
    refuseFields([...hiddenArguments(values), ...undeclaredFaults(values)]);
    return { values, compiled: null };
  },
  // A prompt that is older than these checks can be restored.
  checkEarlier: async (context, draft, checkGuard) => ({
    values: await preparePrompt(context, draft, checkGuard),
    compiled: null,
  }),
  unchecked: (draft) => draft,
  derived: (_, row) => ({ tokens: estimateTokens(JSON.stringify(freezePrompt(row).listing)) }),
});

/** Checks that hold for every prompt. New ones also have to declare every variable. */
export async function preparePrompt(
  context: Context,
  draft: PromptDraft,
  checkGuard: GuardCheck = guardDraft,
): Promise<PromptDraft> {
  if (draft.connection_id !== null) await ownerOf(context, draft.connection_id);
  refuseFields(repeatedArguments(draft));
  if ((draft.template === null) === (draft.messages === null)) {
    throw invalidField('template', 'A prompt has either a template or messages. Send one of them.');
  }
  await checkGuard(context, 'prompt', draft);
  for (const { field, template } of textsOf(draft)) atField(field, () => parseTemplate(template));
  return draft;
}

type Texts = Pick<PromptDraft, 'template' | 'messages'>;

const textsOf = ({ template, messages }: Texts): { field: string; template: string }[] => [
  ...(template === null ? [] : [{ field: 'template', template }]),
  ...(messages ?? []).map((message, n) => ({ field: `messages.${n}.template`, template: message.template })),
];

/** Variables that templates can read without an argument. */
const BUILT_IN: ReadonlySet<string> = new Set(['vars', 'caller']);

/** The arguments that a text reads. */
const variablesOf = (template: string): string[] => parseTemplate(template).program.unset.filter((name) => !BUILT_IN.has(name));

/** The arguments that the texts of a prompt read. Throws for an invalid template. */
export const promptVariables = (texts: Texts): string[] => [
  ...new Set(textsOf(texts).flatMap(({ template }) => variablesOf(template))),
];

/** Variables without an argument. They would silently become empty text. */
export function undeclaredFaults({ arguments: list, ...texts }: Texts & Pick<PromptDraft, 'arguments'>): FieldError[] {
  return textsOf(texts).flatMap(({ field, template }) => {
    const names = variablesOf(template).filter((name) => !list.some((argument) => argument.name === name));
    return names.length === 0 ? [] : [{ field, message: undeclared(names) }];
  });
}

function undeclared(names: readonly string[]): string {
  const [first] = names;
  if (names.length === 1) return `The variable ${first} is not an argument. Add it to the arguments or remove it from the text.`;
  const list = `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
  return `The variables ${list} are not arguments. Add them to the arguments or remove them from the text.`;
}

const repeatedArguments = ({ arguments: list }: PromptDraft): FieldError[] =>
  list.flatMap(({ name }, n) =>
    list.findIndex((other) => other.name === name) === n
      ? []
      : [{ field: `arguments.${n}.name`, message: `The argument ${name} is declared twice.` }],
  );

/** Arguments named `vars`, which hides the global variables. An argument named `caller` is allowed. */
const hiddenArguments = ({ arguments: list }: PromptDraft): FieldError[] =>
  list.flatMap(({ name }, n) =>
    name === 'vars'
      ? [
          {
            field: `arguments.${n}.name`,
            message: 'vars holds the global variables, so no argument can have that name. Rename it.',
          },
        ]
      : [],
  );
