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
    refuseFaults([...hiddenArguments(values), ...undeclaredFaults(values)]);
    return { values, compiled: null };
  },
  // A prompt that is older than these checks can come back.
  checkEarlier: async (context, draft, checkGuard) => ({
    values: await preparePrompt(context, draft, checkGuard),
    compiled: null,
  }),
  unchecked: (draft) => draft,
  derived: (_, row) => ({ tokens: estimateTokens(JSON.stringify(freezePrompt(row).listing)) }),
});

/** Everything that must hold wherever a prompt comes from; new ones also declare every variable. */
export async function preparePrompt(
  context: Context,
  draft: PromptDraft,
  checkGuard: GuardCheck = guardDraft,
): Promise<PromptDraft> {
  if (draft.connection_id !== null) await ownerOf(context, draft.connection_id);
  refuseFaults(repeatedArguments(draft));
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

/** What templates read without an argument of that name. */
const ALWAYS_THERE: ReadonlySet<string> = new Set(['vars', 'caller']);

/** The names that a text takes from its arguments. */
const variablesOf = (template: string): string[] =>
  parseTemplate(template).program.unset.filter((name) => !ALWAYS_THERE.has(name));

/** The names that the texts of a prompt take from its arguments. Throws when one cannot be read. */
export const promptVariables = (texts: Texts): string[] => [
  ...new Set(textsOf(texts).flatMap(({ template }) => variablesOf(template))),
];

/** A variable that nobody fills would be empty text without a word. */
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

export function refuseFaults(faults: FieldError[]): void {
  refuseFields(faults);
}

const repeatedArguments = ({ arguments: list }: PromptDraft): FieldError[] =>
  list.flatMap(({ name }, n) =>
    list.findIndex((other) => other.name === name) === n
      ? []
      : [{ field: `arguments.${n}.name`, message: `The argument ${name} is declared twice.` }],
  );

/** Templates read the global variables there. An argument that its author named `caller` stays one. */
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
