import * as v from 'valibot';
import type { GuardFinding } from '#core/contract/guard.ts';
import type { PromptMessage } from '#core/contract/prompts.ts';
import { ToolDraft } from '#core/contract/tools.ts';
import { renderTemplate } from '#core/lib/template/evaluate.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { AppError } from '#core/errors.ts';
import type { Handlers } from '#core/run.ts';
import { freezePrompt, resourceListing, toolListing } from '#snapshots/entities.ts';
import { readServerConfig } from './settings/config.ts';
import { findingsOf, type guardDraft } from './guard/guard.ts';
import { preparePrompt } from './prompts.ts';
import { prepareResource } from './resources.ts';
import { prepareTool } from './tools.ts';

type Noun = 'preview.tool' | 'preview.resource' | 'preview.prompt';

/** What saving would check, and what clients would then see; refusals and the guard's findings are told, not thrown. */
export const previewDefinitionHandlers: Pick<Handlers, Noun> = {
  'preview.tool': (context, input) =>
    told(async (judge) => {
      const { values, compiled } = await prepareTool(context, { ...v.getDefaults(ToolDraft), ...input }, judge);
      const { read_only, reason } = compiled.classification;
      return { listing: toolListing(values, compiled), read_only, reason, warnings: [...compiled.warnings] };
    }),
  'preview.resource': (context, input) =>
    told(async (judge) => {
      const { values, compiled } = await prepareResource(context, { ...input, enabled: true }, judge);
      return { listing: resourceListing(values), parameters: values.parameters, warnings: [...compiled.warnings] };
    }),
  'preview.prompt': (context, { values, ...input }) =>
    told(async (judge) => {
      const draft = await preparePrompt(context, { ...input, connection_id: null, enabled: true }, judge);
      const { listing, messages } = freezePrompt({ ...draft, id: '', version: 1, created_at: '', updated_at: '' });
      const args = Object.fromEntries(draft.arguments.map(({ name }) => [name, values[name] ?? '']));
      const vars = (await readServerConfig(context.app)).global_variables;
      return { listing, ...rendered(messages, { ...args, vars }) };
    }),
};

/** Keeps what the guard finds; a refusal of the definition stands in the place of what it would be. */
async function told<T>(work: (judge: typeof guardDraft) => Promise<T>) {
  const findings: GuardFinding[] = [];
  const judge: typeof guardDraft = async (...args) => void findings.push(...(await findingsOf(...args)));
  try {
    return { findings, ...(await work(judge)) };
  } catch (error) {
    if (!(error instanceof AppError) || error.status >= 500) throw error;
    const { code, detail, errors, position } = error;
    return { findings, refusal: { code, detail, errors: [...errors], ...(position === undefined ? {} : { position }) } };
  }
}

function rendered(messages: readonly PromptMessage[], input: Readonly<Record<string, unknown>>) {
  try {
    return { messages: messages.map(({ role, template }) => ({ role, text: renderTemplate(parseTemplate(template), input) })) };
  } catch (error) {
    if (error instanceof AppError) return { messages: [], template_error: error.detail };
    throw error;
  }
}
