import { toJsonSchema } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { Id, Timestamp, TransformTemplate, Version } from '#core/contract/fields.ts';
import { describedFields, isBrief, type Marks } from '#core/contract/marks.ts';

export type JsonObject = Record<string, unknown>;

/** Any JSON value. Some clients reject a schema without keywords. */
const anything = (items: JsonObject) => ({
  anyOf: ['string', 'number', 'boolean', 'object', 'array', 'null'].map((type) => ({ type, ...(type === 'array' && items) })),
});
/** VS Code rejects list arguments without `items`. */
const ANY_ARGUMENT = anything({ items: {} });
const ANY_ANSWER = anything({});
const ANNOTATIONS = new Set(['description', 'default', 'title']);
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];

/**
 * Converts a schema of the contract to JSON Schema that every client accepts: each value has a type.
 * @param helps whether fields without a description get the help text of the forms.
 */
export function schemaOf(schema: v.GenericSchema, typeMode: 'input' | 'output', helps = false): JsonObject {
  const overrideSchema = (converted: Converted) => {
    if (isBrief(converted.valibotSchema)) return { type: 'object' } as const;
    return helps ? describedFields(converted, helpOf) : undefined;
  };
  const config = { typeMode, errorMode: 'ignore', overrideSchema } as const;
  const { $schema: _, ...rest } = toJsonSchema(schema, config) as JsonObject;
  return explicit(rest, typeMode === 'output' ? OF_OUTPUT : OF_INPUT);
}

type Converted = Parameters<typeof describedFields>[0];

/** The help text of a field and of its choices. */
function helpOf({ help, choices = {} }: Marks, description: string | undefined): string | undefined {
  const of_choices = Object.entries(choices).flatMap(([value, { help: meaning }]) =>
    meaning === undefined ? [] : `${value}: ${withoutStop(meaning)}`,
  );
  const text = [withoutStop(help ?? ''), of_choices.join('; ')].filter((part) => part !== '').join('. ');
  return description ?? (text === '' ? undefined : text);
}

const withoutStop = (sentence: string): string => sentence.replace(/\.$/, '');

/** Keywords that matter only for input. They are omitted from answers, because models read the whole list of tools. */
const LIMITS = new Set(
  `minLength maxLength minItems maxItems minimum maximum pattern default propertyNames additionalProperties`.split(' '),
);
/** Descriptions of ids and times, which the instructions of the endpoint already contain. */
const COMMON_DESCRIPTIONS: ReadonlySet<unknown> = new Set([Id, Timestamp].map((schema) => v.getDescription(schema)));

interface LeftOut {
  readonly keywords: ReadonlySet<string>;
  readonly descriptions: ReadonlySet<unknown>;
  /** For nested schemas; absent: the same. */
  readonly inner?: LeftOut;
}
const OF_INPUT: LeftOut = { keywords: new Set(), descriptions: COMMON_DESCRIPTIONS };
const FOR_WRITERS = [Version, TransformTemplate].map((schema) => v.getDescription(schema));
/** The descriptions of versions and templates matter only for input. `required` is given only at the top level of an answer. */
const OF_OUTPUT: LeftOut = {
  keywords: LIMITS,
  descriptions: new Set([...COMMON_DESCRIPTIONS, ...FOR_WRITERS]),
  inner: { keywords: new Set([...LIMITS, 'required']), descriptions: new Set([...COMMON_DESCRIPTIONS, ...FOR_WRITERS]) },
};

/** The largest integer that a column can store. Schemas omit it as a limit, because it says nothing about the field. */
const UNBOUNDED = 2 ** 31 - 1;

/** Omits keywords and descriptions, but never a schema of additional properties. */
function explicit(given: JsonObject, left_out: LeftOut): JsonObject {
  const { keywords, descriptions, inner = left_out } = left_out;
  const isIncluded = ([keyword, value]: [string, unknown]): boolean =>
    keyword === 'description'
      ? !descriptions.has(value)
      : (value !== UNBOUNDED && !keywords.has(keyword)) || (keyword === 'additionalProperties' && isObject(value));
  const schema = Object.fromEntries(Object.entries(given).filter(isIncluded));
  // An empty list of required members has no meaning.
  if (Array.isArray(schema['required']) && schema['required'].length === 0) delete schema['required'];
  const has_type = Object.keys(schema).some((keyword) => !ANNOTATIONS.has(keyword));
  const result: JsonObject = has_type ? schema : { ...schema, ...(left_out === OF_INPUT ? ANY_ARGUMENT : ANY_ANSWER) };
  if (isObject(schema['properties'])) {
    result['properties'] = Object.fromEntries(
      Object.entries(schema['properties']).map(([name, item]) => [name, isObject(item) ? explicit(item, inner) : item]),
    );
  }
  if (isObject(schema['items'])) result['items'] = explicit(schema['items'], inner);
  const rest = schema['additionalProperties'];
  if (isObject(rest)) result['additionalProperties'] = Object.keys(rest).length === 0 ? true : explicit(rest, inner);
  for (const keyword of LISTS) {
    const list = schema[keyword];
    if (Array.isArray(list)) result[keyword] = list.map((item: unknown) => (isObject(item) ? explicit(item, inner) : item));
  }
  return result;
}

export type SayOnce = (schema: JsonObject, tool: string) => JsonObject;

/** Shorter schemas are repeated: they cost a model fewer tokens than a reference. */
const MIN_REFERENCED = 120;

/** Includes each larger object of the answers once. Later tools refer to the first tool that returns it. */
export function createSayOnce(): SayOnce {
  const first = new Map<string, string>();
  const inner = (schema: JsonObject, tool: string): JsonObject => {
    const { description, required: _, ...rest } = schema;
    const key = isObject(rest['properties']) ? JSON.stringify(rest) : '';
    const known = key.length < MIN_REFERENCED ? undefined : first.get(key);
    const about = typeof description === 'string' ? `${description}. ` : '';
    if (known !== undefined) return { type: 'object', description: `${about}Fields as ${known} gives them` };
    if (key.length >= MIN_REFERENCED) first.set(key, tool);
    return outer(schema, tool);
  };
  const outer = (schema: JsonObject, tool: string): JsonObject => {
    const result = { ...schema };
    for (const keyword of ['items', 'additionalProperties']) {
      if (isObject(schema[keyword])) result[keyword] = inner(schema[keyword], tool);
    }
    for (const keyword of LISTS) {
      const list = schema[keyword];
      if (Array.isArray(list)) result[keyword] = list.map((item: unknown) => (isObject(item) ? inner(item, tool) : item));
    }
    if (isObject(schema['properties'])) {
      result['properties'] = Object.fromEntries(
        Object.entries(schema['properties']).map(([name, item]) => [name, isObject(item) ? inner(item, tool) : item]),
      );
    }
    return result;
  };
  return inner;
}

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);
