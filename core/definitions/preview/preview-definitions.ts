import type { WithVersions } from '#core/versions/versions.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import { type WithLint, lintDraft } from '#core/definitions/lint/lint-index.ts';
import * as v from 'valibot';
import type { GuardFinding } from '#core/contract/guard.ts';
import type { PromptMessage } from '#core/contract/definitions/prompts.ts';
import { ToolDraft } from '#core/contract/definitions/tools.ts';
import { promptScope } from '#core/query/values.ts';
import { renderMessages } from '#core/lib/template/evaluate.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { AppError, refuseFields } from '#core/errors.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import type { Compiled } from '#snapshots/freeze/compile.ts';
import { freezePrompt, resourceListing, toolListing } from '#snapshots/freeze/entities.ts';
import { ofPromptDraft, ofResourceDraft, ofToolDraft } from '../lint/subject.ts';
import { readServerConfig } from '#core/settings/settings.ts';
import { findingsOf, type guardDraft } from '#core/records/prompt-guard.ts';
import { preparePrompt, promptVariables, undeclaredFaults } from '../prompts.ts';
import { prepareResource } from '../resources.ts';
import { pretended } from './pretended.ts';
import { suggestParameters } from './suggest.ts';
import { prepareTool } from '../tools.ts';

type Noun = 'preview.tool' | 'preview.resource' | 'preview.prompt';

/** Runs the checks of saving, and shows what clients would see. Refusals and findings of the prompt guard are part of the answer. */
export const previewDefinitionHandlers: Pick<Handlers<WithSources & WithLint & WithVersions>, Noun> = {
  'preview.tool': (context, { id = '', ...input }) =>
    withSuggestions(context, input, async (checkGuard) => {
      const { values, compiled } = await prepareTool(context, { ...v.getDefaults(ToolDraft), ...input }, checkGuard);
      const { read_only, reason } = compiled.classification;
      const lint = await lintDraft(context, ofToolDraft({ ...values, id }, compiled));
      return { listing: toolListing(values, compiled), read_only, reason, ...knownOf(compiled), lint };
    }),
  'preview.resource': (context, { id = '', ...input }) =>
    withSuggestions(context, input, async (checkGuard) => {
      const { values, compiled } = await prepareResource(context, { ...input, enabled: true }, checkGuard);
      const lint = await lintDraft(context, ofResourceDraft({ ...values, id }, compiled));
      return { lint, listing: resourceListing(values), parameters: values.parameters, ...knownOf(compiled) };
    }),
  'preview.prompt': async (context, { id = '', values, caller, ...input }) => {
    const called = pretended(context, caller);
    let variables: string[] | undefined;
    const answer = await withFindings(async (checkGuard) => {
      const draft = await preparePrompt(context, { ...input, connection_id: null, enabled: true }, checkGuard);
      variables = promptVariables(draft);
      refuseFields(undeclaredFaults(draft));
      const { listing, messages } = freezePrompt({ ...draft, id: '', version: 1, created_at: '', updated_at: '' });
      const args = Object.fromEntries(
        draft.arguments.map(({ name }) => [name, (Object.hasOwn(values, name) && values[name]) || '']),
      );
      const vars = (await readServerConfig(context.app)).global_variables;
      const lint = await lintDraft(context, ofPromptDraft({ ...draft, id }));
      return { lint, listing, ...rendered(messages, promptScope(args, { vars, caller: called })) };
    });
    return variables === undefined ? answer : { ...answer, variables };
  },
};

const knownOf = ({ warnings, columns }: Compiled) => ({
  warnings: [...warnings],
  ...(columns === null ? {} : { columns: columns.map(({ name }) => name) }),
});

/** Adds suggestions for parameters, which help most while the definition is still refused. */
async function withSuggestions<T>(
  context: Context,
  input: { readonly connection_id: string; readonly sql_query: string },
  work: (checkGuard: typeof guardDraft) => Promise<T>,
) {
  const [answer, suggested] = await Promise.all([withFindings(work), suggestParameters(context, input)]);
  return { ...answer, suggested };
}

/** Adds the findings of the prompt guard. When the definition is refused, the answer has the refusal instead. */
async function withFindings<T>(work: (checkGuard: typeof guardDraft) => Promise<T>) {
  const findings: GuardFinding[] = [];
  const checkGuard: typeof guardDraft = async (...args) => void findings.push(...(await findingsOf(...args)));
  try {
    return { findings, ...(await work(checkGuard)) };
  } catch (error) {
    if (!(error instanceof AppError) || error.status >= 500) throw error;
    const { code, detail, errors, position } = error;
    return { findings, refusal: { code, detail, errors: [...errors], ...(position === undefined ? {} : { position }) } };
  }
}

function rendered(messages: readonly PromptMessage[], input: Readonly<Record<string, unknown>>) {
  try {
    const templates = messages.map(({ role, template }) => ({ role, template: parseTemplate(template) }));
    return { messages: renderMessages(templates, input) };
  } catch (error) {
    if (error instanceof AppError) return { messages: [], template_error: error.detail };
    throw error;
  }
}
