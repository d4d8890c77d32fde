import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { ResourceDraft } from '#core/contract/definitions/resources.ts';
import { estimateTokens } from '#core/lib/tokens.ts';
import { isSent } from '#core/query/arguments.ts';
import { parseUriTemplate, uriTemplateFault } from '#core/lib/uri-template.ts';
import { invalidField } from '#core/errors.ts';
import type { Context } from '#core/context/context.ts';
import { refuse, resourceDefinition, resourceListing } from '#snapshots/freeze/entities.ts';
import { guardDraft } from '#core/records/prompt-guard.ts';
import { createOwned, type GuardCheck } from './owned.ts';
import { ownerOf } from './owners.ts';
import { atField, type Described, prepareDefinition } from '#core/sources/statements.ts';

export const resource = createOwned<'resource', ResourceDraft>('resource', {
  // Parameters are the variables of the URI template.
  checked: ['connection_id', 'uri_template', 'sql_query', 'parameters', 'transform_template', 'masks'],
  check: async (context, draft, checkGuard, earlier) => {
    refuseUnreadable(draft);
    return prepareResource(context, draft, checkGuard, earlier);
  },
  // A resource that is older than the check of its variables can be restored.
  checkEarlier: prepareResource,
  unchecked: (draft) => draft,
  derived: (compiled, row) => ({
    warnings: [...(compiled?.warnings ?? [])],
    tokens: estimateTokens(JSON.stringify(resourceListing(row))),
  }),
});

/** Checks a resource before it is stored. @param earlier the resource that is changed or copied. */
export async function prepareResource(
  context: Context,
  draft: ResourceDraft,
  checkGuard: GuardCheck = guardDraft,
  earlier: Described | null = null,
) {
  const connection = await ownerOf(context, draft.connection_id);
  const fault = uriTemplateFault(draft.uri_template);
  if (fault !== null) throw invalidField('uri_template', fault);
  const values = { ...draft, parameters: withVariables(draft) };
  await checkGuard(context, 'resource', values);
  const compiled = await prepareDefinition(
    context.app,
    connection,
    { ...resourceDefinition(values), enabled: draft.enabled },
    earlier,
  );
  const { classification } = compiled;
  atField('sql_query', () => refuse({ read_only: true }, compiled, connection, context.app.env.SVC_ALLOW_PASSTHROUGH_SQL));
  if (!classification.read_only) {
    throw invalidField(
      'sql_query',
      `A resource must be read-only, and this statement is not: ${classification.reason ?? classification.command}`,
    );
  }
  return { values, compiled };
}

/**
 * The parameters of a resource: one for each variable of the URI template, by default a required string, and those that Sluice fills,
 * which the template must not contain.
 */
function withVariables({ uri_template, parameters }: ResourceDraft): Parameter[] {
  const { variables } = parseUriTemplate(uri_template);
  const named = parameters.findIndex((parameter) => !isSent(parameter) && variables.includes(parameter.name));
  if (named >= 0) {
    const { name, from } = parameters[named]!;
    throw invalidField(
      `parameters.${named}.from`,
      `${name} is a variable of uri_template, so it cannot be filled with ${from}. Rename one of them.`,
    );
  }
  const foreign = parameters.findIndex((parameter) => isSent(parameter) && !variables.includes(parameter.name));
  if (foreign >= 0) {
    throw invalidField(
      `parameters.${foreign}.name`,
      `The parameter ${parameters[foreign]?.name} is not a variable of uri_template.`,
    );
  }
  const sent = variables.map(
    (name): Parameter =>
      parameters.find((parameter) => parameter.name === name) ?? { name, type: 'string', description: '', required: true },
  );
  return [...sent, ...parameters.filter((parameter) => !isSent(parameter))];
}

/** Throws for parameters that a URI cannot express: it has exactly one text for each variable. */
function refuseUnreadable({ uri_template, parameters }: ResourceDraft): void {
  const { variables } = parseUriTemplate(uri_template);
  for (const [n, { name, type, required, default: fallback }] of parameters.entries()) {
    if (!variables.includes(name)) continue;
    if (type === 'array' || type === 'json') {
      const detail = `${name} is a variable of uri_template, which holds one plain value, so its type cannot be ${type}. Use another type.`;
      throw invalidField(`parameters.${n}.type`, detail);
    }
    if (!required || (fallback ?? null) !== null) {
      const field = required ? 'default' : 'required';
      const detail = `${name} is a variable of uri_template, so every address has it. Remove ${field === 'default' ? 'its default' : 'required: false'}.`;
      throw invalidField(`parameters.${n}.${field}`, detail);
    }
  }
}
