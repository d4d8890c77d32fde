import type { Parameter, ParameterType, ScalarType } from '#core/contract/definitions/parameters.ts';
import { fromRelative } from './date-text.ts';
import { parseJson } from '#ui/src/kernel/json.ts';

/** What a person typed for a parameter; undefined: not given. */
export type Entered = Readonly<Record<string, string | undefined>>;

export interface Arguments {
  readonly values: Readonly<Record<string, unknown>>;
  /** A sentence for each entry that is no value of its type. */
  readonly errors: Readonly<Record<string, string>>;
}

type Parsed = { readonly value: unknown } | { readonly fault: string };

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

const PARSERS: Readonly<Record<ScalarType, (text: string) => Parsed>> = {
  string: (text) => ({ value: text }),
  integer: (text) => {
    if (!/^[+-]?\d+$/.test(text.trim())) return { fault: 'Enter a whole number.' };
    const value = Number(text);
    // Beyond what a number holds exactly, the digits themselves are sent.
    return { value: Number.isSafeInteger(value) ? value : text.trim().replace(/^\+/, '') };
  },
  number: (text) => {
    const value = Number(text);
    return text.trim() === '' || !Number.isFinite(value) ? { fault: 'Enter a number, such as 12.5.' } : { value };
  },
  boolean: (text) => (text === 'true' || text === 'false' ? { value: text === 'true' } : { fault: 'Choose true or false.' }),
  date: (text) =>
    DATE.test(text) && !Number.isNaN(Date.parse(text)) ? { value: text } : { fault: 'Enter a day, such as 2026-03-31.' },
  datetime: (text) =>
    /^\d{4}-\d{2}-\d{2}(?:[T ]|$)/.test(text) && !Number.isNaN(Date.parse(text.replace(' ', 'T')))
      ? { value: text }
      : { fault: 'Enter a time, such as 2026-03-31T08:30:00Z.' },
  bytes: (text) =>
    /^[A-Za-z\d+/]*={0,2}$/.test(text.trim()) && text.trim().length % 4 === 0
      ? { value: text.trim() }
      : { fault: 'Enter bytes as base64, such as AQID.' },
  uuid: (text) => (UUID.test(text.trim()) ? { value: text.trim() } : { fault: 'Enter a UUID.' }),
  json: (text) => {
    const value = parseJson(text);
    return value === undefined ? { fault: 'Enter JSON, such as {"a": 1}.' } : { value };
  },
};

/** The value of a text. A list is written as JSON or one value per line; a comma would make two of one. */
export function parseEntry(
  text: string,
  { type, items }: { readonly type: ParameterType; readonly items?: ScalarType | undefined },
): Parsed {
  if (type !== 'array') return PARSERS[type](text);
  if (text.trim().startsWith('[')) {
    const parsed = PARSERS.json(text);
    if ('fault' in parsed || !Array.isArray(parsed.value)) return { fault: 'Enter one value per line, or a JSON list.' };
    return parsed;
  }
  const elements: unknown[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    if (line.includes(','))
      return { fault: `Line ${index + 1}: write one value per line. A value that has a comma goes into a JSON list: ["a, b"].` };
    const parsed = PARSERS[items ?? 'string'](line.trim());
    if ('fault' in parsed) return { fault: `Line ${index + 1}: ${parsed.fault}` };
    elements.push(parsed.value);
  }
  return { value: elements };
}

/** A value as it is typed. */
export function writeEntry(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object' && !/[\n,]/.test(String(item)))) {
    return value.join('\n');
  }
  return JSON.stringify(value, null, 2);
}

/**
 * The arguments of a call. An entry that is left empty is not given, except a text that was entered on purpose; `today` and the like
 * become dates.
 */
export function toArguments(parameters: readonly Parameter[], entered: Entered, now = new Date()): Arguments {
  const values: Record<string, unknown> = {};
  const errors: Record<string, string> = {};
  for (const parameter of parameters) {
    const text = entered[parameter.name];
    if (text === undefined || (text === '' && parameter.type !== 'array')) {
      if (parameter.required && (parameter.default === undefined || parameter.default === null)) {
        if (parameter.type === 'string' && text === '') values[parameter.name] = '';
        else errors[parameter.name] = 'This argument is required.';
      }
      continue;
    }
    if (text === '' && !parameter.required) continue;
    const { type } = parameter;
    const written = type === 'date' || type === 'datetime' ? (fromRelative(text, type, now) ?? text) : text;
    const parsed = parseEntry(written, parameter);
    if ('fault' in parsed) errors[parameter.name] = parsed.fault;
    else values[parameter.name] = parsed.value;
  }
  return { values, errors };
}

/** Values to begin with: defaults, first choices, and something of the type where a value is needed. */
export function sampleEntries(parameters: readonly Parameter[], today: string): Record<string, string | undefined> {
  return Object.fromEntries(parameters.map((parameter) => [parameter.name, sampleOf(parameter, today)]));
}

function sampleOf(parameter: Parameter, today: string): string | undefined {
  const { default: fallback, enum: choices, required, type, minimum, examples } = parameter;
  if (fallback !== undefined && fallback !== null) return undefined;
  if (!required) return undefined;
  if (choices !== undefined) return String(choices[0]);
  if (examples !== undefined) return writeEntry(examples[0]);
  if (type === 'integer' || type === 'number') return String(minimum ?? 1);
  if (type === 'date') return today;
  if (type === 'datetime') return `${today}T00:00:00Z`;
  return type === 'boolean' ? 'true' : undefined;
}
