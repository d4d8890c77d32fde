import { type Parameter, ParameterType, ScalarType } from '#core/contract/definitions/parameters.ts';
import { DATETIME_FORM } from '#core/lib/text/datetime-form.ts';
import { cellText } from '#core/lib/csv.ts';
import { writeEntry } from './arguments.ts';
import { isMembers, type Members } from '#core/lib/view/table.ts';

const FORMATS: Readonly<Record<string, ScalarType>> = { date: 'date', 'date-time': 'datetime', uuid: 'uuid' };

function typeOf<T extends string>(
  { type, format, contentEncoding }: Members,
  known: readonly T[],
  description: unknown,
): T | 'json' {
  // JSON Schema has no format for these times, so their description has it.
  const is_time = typeof description === 'string' && description.includes(DATETIME_FORM);
  const is_bytes = contentEncoding === 'base64';
  const of_format = is_bytes ? 'bytes' : typeof format === 'string' ? FORMATS[format] : undefined;
  const type_name = type === 'string' ? (of_format ?? (is_time ? 'datetime' : 'string')) : type;
  return known.find((one) => one === type_name) ?? 'json';
}

/** The parameters of a tool's input schema. */
export function fieldsOfSchema(schema: unknown): Parameter[] {
  if (!isMembers(schema) || !isMembers(schema['properties'])) return [];
  const needed = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : [];
  const fields = Object.entries(schema['properties']).map(([name, property]): Parameter => {
    const about = isMembers(property) ? property : {};
    const items = isMembers(about['items']) ? about['items'] : {};
    const choices = about['enum'] ?? items['enum'];
    const type = typeOf(about, ParameterType.options, about['description']);
    return {
      name,
      type,
      description: typeof about['description'] === 'string' ? about['description'] : '',
      required: needed.includes(name),
      ...(type === 'array' ? { items: typeOf(items, ScalarType.options, about['description']) } : {}),
      ...(Array.isArray(choices) ? { enum: choices.map(String) } : {}),
      ...(about['default'] === undefined ? {} : { default: about['default'] }),
      ...(Array.isArray(about['examples']) ? { examples: about['examples'] } : {}),
      ...(typeof about['minimum'] === 'number' ? { minimum: about['minimum'] } : {}),
    };
  });
  // A snapshot sorts its keys: required parameters come first.
  return [...fields.filter(({ required }) => required), ...fields.filter(({ required }) => !required)];
}

/** The arguments of a prompt, as `prompts/list` names them: texts. */
export const fieldsOfPrompt = (given: unknown): Parameter[] =>
  (Array.isArray(given) ? given : []).filter(isMembers).map(({ name, description, required }) => ({
    name: String(name),
    type: 'string',
    description: typeof description === 'string' ? description : '',
    required: required === true,
  }));

/** The variables of a URI template of level 1. */
export const fieldsOfTemplate = (template: string): Parameter[] =>
  [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({ name, type: 'string', description: '', required: true }));

/** RFC 6570, level 1. */
export const expand = (template: string, values: Members): string =>
  template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(cellText(values[name]).toWellFormed()));

/** What a person would have typed for given arguments: an earlier call is tried again. */
export const toEntered = (values: Members): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, writeEntry(value)]));
