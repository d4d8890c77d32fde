import { isMembers, type Members } from './playground-client.ts';

export type FieldType = 'string' | 'integer' | 'number' | 'boolean' | 'date' | 'datetime' | 'uuid' | 'json' | 'array';

/** One argument as a person fills it in; its value is a text until the call is sent. */
export interface ArgumentField {
  readonly name: string;
  readonly description: string;
  readonly type: FieldType;
  readonly required: boolean;
  /** Of an array. */
  readonly items: FieldType;
  readonly options: readonly string[] | undefined;
  /** What the server takes when nothing is sent. */
  readonly fallback: string | undefined;
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
}

const FORMATS: Readonly<Record<string, FieldType>> = { date: 'date', 'date-time': 'datetime', uuid: 'uuid' };
const TYPES: readonly FieldType[] = ['string', 'integer', 'number', 'boolean', 'array'];

function typeOf({ type, format }: Members): FieldType {
  if (type === 'string' && typeof format === 'string') return FORMATS[format] ?? 'string';
  return TYPES.find((known) => known === type) ?? 'json';
}

/** The fields of a tool's input schema. */
export function fieldsOfSchema(schema: unknown): ArgumentField[] {
  if (!isMembers(schema) || !isMembers(schema['properties'])) return [];
  const needed = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : [];
  const fields = Object.entries(schema['properties']).map(([name, property]): ArgumentField => {
    const about = isMembers(property) ? property : {};
    const items = isMembers(about['items']) ? about['items'] : {};
    const options = about['enum'] ?? items['enum'];
    return {
      name,
      description: typeof about['description'] === 'string' ? about['description'] : '',
      type: typeOf(about),
      required: needed.includes(name),
      items: typeOf(items),
      options: Array.isArray(options) ? options.map(String) : undefined,
      fallback: about['default'] === undefined ? undefined : written(about['default']),
      minimum: numberOf(about['minimum']),
      maximum: numberOf(about['maximum']),
    };
  });
  // A snapshot has its keys in the order of the alphabet: what has to be given stands first.
  return [...fields.filter(({ required }) => required), ...fields.filter(({ required }) => !required)];
}

/** The arguments of a prompt, as `prompts/list` names them: texts. */
export const fieldsOfPrompt = (given: unknown): ArgumentField[] =>
  (Array.isArray(given) ? given : []).filter(isMembers).map((argument) => ({
    ...plain(String(argument['name'])),
    description: typeof argument['description'] === 'string' ? argument['description'] : '',
    required: argument['required'] === true,
  }));

/** The variables of a URI template of level 1. */
export const fieldsOfTemplate = (template: string): ArgumentField[] =>
  [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ ...plain(name ?? ''), required: true }));

/** RFC 6570, level 1. */
export const expand = (template: string, values: Members): string =>
  template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(written(values[name] ?? '')));

const plain = (name: string): ArgumentField => ({
  name,
  description: '',
  type: 'string',
  required: false,
  items: 'string',
  options: undefined,
  fallback: undefined,
  minimum: undefined,
  maximum: undefined,
});

const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
const written = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

export type Texts = Readonly<Record<string, string>>;
export interface Filled {
  readonly values: Members;
  /** What is wrong, by the name of the field. */
  readonly errors: Readonly<Record<string, string>>;
}

/** The arguments that the texts mean. An empty text is no argument. Limits are left to the server: its answer is what is tried. */
export function fill(fields: readonly ArgumentField[], texts: Texts): Filled {
  const values: Record<string, unknown> = {};
  const errors: Record<string, string> = {};
  for (const { name, type, items, required } of fields) {
    const text = texts[name] ?? '';
    if (text === '') {
      if (required) errors[name] = 'This argument is required.';
      continue;
    }
    const parsed = type === 'array' ? toArray(text, items) : toValue(text, type);
    if ('fault' in parsed) errors[name] = parsed.fault;
    else values[name] = parsed.value;
  }
  return { values, errors };
}

type Parsed = { readonly value: unknown } | { readonly fault: string };

function toValue(text: string, type: FieldType): Parsed {
  if (type === 'boolean') return { value: text === 'true' };
  if (type === 'json') return fromJson(text);
  if (type !== 'integer' && type !== 'number') return { value: text };
  const number = Number(text.trim());
  if (text.trim() === '' || Number.isNaN(number)) return { fault: 'Enter a number.' };
  // Beyond 2^53 a number would not be what was written.
  if (type === 'integer' && !Number.isSafeInteger(number))
    return /^[+-]?\d+$/.test(text.trim()) ? { value: text.trim() } : { fault: 'Enter a whole number.' };
  return { value: number };
}

/** One value a line. */
function toArray(text: string, items: FieldType): Parsed {
  const values: unknown[] = [];
  for (const line of text.split('\n').filter((part) => part.trim() !== '')) {
    const parsed = toValue(items === 'string' ? line : line.trim(), items);
    if ('fault' in parsed) return { fault: `${parsed.fault} One value a line.` };
    values.push(parsed.value);
  }
  return { value: values };
}

export function fromJson(text: string): Parsed {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { fault: 'This is not JSON.' };
  }
}

/** The texts that stand for given arguments: an earlier call is tried again. */
export const toTexts = (values: Members): Texts =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, Array.isArray(value) ? value.map(written).join('\n') : written(value)]),
  );
