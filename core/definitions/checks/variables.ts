import { readSettings } from '#core/settings/settings.ts';
import { didYouMean, type FieldError, refuseFields } from '#core/errors.ts';
import { neededMembers } from '#core/lib/template/members.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import type { Context } from '#core/context/context.ts';

/** The fields of definitions and connections that can read global variables. */
interface Reader {
  readonly transform_template?: string | null;
  readonly template?: string | null;
  readonly messages?: readonly { readonly template: string }[] | null;
  readonly parameters?: readonly Filled[];
  readonly session_values?: readonly Filled[];
}
interface Filled {
  readonly from?: string | undefined;
  readonly required?: boolean | undefined;
}

const PREFIX = 'vars.';

/**
 * Throws for unknown global variables without a default. Not in an import or a rollback, which may add the variables as well.
 * @param before the record that is changed or copied: the variables that it reads are accepted.
 */
export async function refuseUnknownVariables({ app, batch }: Context, draft: object, before: object | null): Promise<void> {
  if (batch !== undefined) return;
  const read = variablesIn(draft);
  if (read.length === 0) return;
  const known = Object.keys((await readSettings(app)).settings.global_variables);
  const accepted = new Set([...known, ...(before === null ? [] : variablesIn(before).map(({ name }) => name))]);
  refuseFields(read.filter(({ name }) => !accepted.has(name)).map(({ field, name }) => unknown(field, name, known)));
}

function unknown(field: string, name: string, known: readonly string[]): FieldError {
  const near = didYouMean(name, known);
  const fallback = field.endsWith('.from') ? '' : `, or write ${PREFIX}${name} | default('…')`;
  const way_out = near === '' ? ` Add it to the variables of the settings first${fallback}.` : near;
  return { field, message: `There is no variable ${PREFIX}${name}.${way_out}` };
}

function variablesIn({ transform_template, template, messages, parameters, session_values }: Reader) {
  const texts: readonly (readonly [string, string | null | undefined])[] = [
    ['transform_template', transform_template],
    ['template', template],
    ...(messages ?? []).map((message, n) => [`messages.${n}.template`, message.template] as const),
  ];
  const named = texts.flatMap(([field, text]) =>
    typeof text === 'string' && text.includes('vars')
      ? neededMembers(parseTemplate(text), 'vars').map((name) => ({ field, name }))
      : [],
  );
  const filled = Object.entries({ parameters, session_values }).flatMap(([list, entries = []]) =>
    entries.flatMap(({ from, required }, n) =>
      from?.startsWith(PREFIX) === true && required !== false
        ? [{ field: `${list}.${n}.from`, name: from.slice(PREFIX.length) }]
        : [],
    ),
  );
  return [...named, ...filled];
}
