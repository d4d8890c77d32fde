import { renderMessages } from '#core/lib/template/evaluate.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { applyTransform, type TransformInput, type Transformed } from '#core/lib/template/transform.ts';
import type { Prompt } from './definitions.ts';

/** Applies a transform template to the rows. The result is JSON if the output parses as JSON, and else text. */
export function applyTemplate(template: string | null, input: TransformInput): Transformed | null {
  return template === null ? null : applyTransform(parseTemplate(template), input);
}

export function renderPrompt({ messages }: Prompt, args: Readonly<Record<string, string>>, vars: TransformInput['vars']) {
  const templates = messages.map(({ role, template }) => ({ role, template: parseTemplate(template) }));
  return renderMessages(templates, { ...args, vars });
}
