import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { PromptArgument, PromptDraft, PromptMessage } from '#core/contract/definitions/prompts.ts';

/** The messages of a prompt, whether stored as a template or as a list. */
export function messagesOf({ template, messages }: Pick<PromptDraft, 'template' | 'messages'>): PromptMessage[] {
  if (messages !== null) return messages.map((message) => ({ ...message }));
  return [{ role: 'user', template: template ?? '' }];
}

/** A single user message is stored as a template, anything else as a list. */
export function withMessages(messages: readonly PromptMessage[]): Pick<PromptDraft, 'template' | 'messages'> {
  const [only] = messages;
  if (messages.length === 1 && only?.role === 'user') return { template: only.template, messages: null };
  return { template: null, messages: messages.map((message) => ({ ...message })) };
}

/** A prompt argument as a string parameter, for the table of parameters. */
export const asParameter = ({ name, description, required, enum: choices }: PromptArgument): Parameter => ({
  name,
  type: 'string',
  description,
  required,
  ...(choices === undefined ? {} : { enum: choices }),
});

export const asArgument = ({ name, description, required, enum: choices }: Parameter): PromptArgument => ({
  name,
  description,
  required,
  ...(choices === undefined || choices.length === 0 ? {} : { enum: choices.map(String) }),
});
