import { toJsonSchema } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { Id, Timestamp, TransformTemplate, Version } from '#core/contract/fields.ts';
import { describedFields, type Marks } from '#core/contract/marks.ts';

export type JsonObject = Record<string, unknown>;

/** Whatever JSON holds. Some clients take a schema without a keyword for a mistake. */
const anything = (items: JsonObject) => ({
  anyOf: ['string', 'number', 'boolean', 'object', 'array', 'null'].map((type) => ({ type, ...(type === 'array' && items) })),
});
/** VS Code refuses arguments that are lists without `items`. */
const ANY_ARGUMENT = anything({ items: {} });
const ANY_ANSWER = anything({});
const ANNOTATIONS = new Set(['description', 'default', 'title']);
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];

/**
 * A schema of the contract as JSON Schema that every client reads: it says of each value what it may be.
 * @param helps whether fields say what the forms say of them.
 */
export function schemaOf(schema: v.GenericSchema, typeMode: 'input' | 'output', helps = false): JsonObject {
  const overrideSchema = (converted: Converted) => describedFields(converted, helpOf);
  const config = { typeMode, errorMode: 'ignore', ...(helps && { overrideSchema }) } as const;
  const { $schema: _, ...rest } = toJsonSchema(schema, config) as JsonObject;
  return explicit(rest, typeMode === 'output' ? OF_OUTPUT : OF_INPUT);
}

type Converted = Parameters<typeof describedFields>[0];

/** What the form says under a field, and of each choice. */
function helpOf({ help, choices = {} }: Marks, description: string | undefined): string | undefined {
  const of_choices = Object.entries(choices).flatMap(([value, { help: meaning }]) =>
    meaning === undefined ? [] : `${value}: ${withoutStop(meaning)}`,
  );
  const said = [withoutStop(help ?? ''), of_choices.join('; ')].filter((part) => part !== '').join('. ');
  return description ?? (said === '' ? undefined : said);
}

const withoutStop = (sentence: string): string => sentence.replace(/\.$/, '');

/** What a writer must keep to. A reader of an answer learns nothing from it, and the list of tools is read by models. */
const LIMITS = new Set(
  `minLength maxLength minItems maxItems minimum maximum pattern default propertyNames additionalProperties`.split(' '),
);
/** What the instructions of the endpoint say of every id and time. */
const SAID: ReadonlySet<unknown> = new Set([Id, Timestamp].map((schema) => v.getDescription(schema)));

interface LeftOut {
  readonly keywords: ReadonlySet<string>;
  readonly descriptions: ReadonlySet<unknown>;
  /** Of what is within. */
  readonly inner?: LeftOut;
}
const OF_INPUT: LeftOut = { keywords: new Set(), descriptions: SAID };
const FOR_WRITERS = [Version, TransformTemplate].map((schema) => v.getDescription(schema));
/** The lock of a version, and what a template can read, are for who writes. Which members an answer always has is said of the answer itself. */
const OF_OUTPUT: LeftOut = {
  keywords: LIMITS,
  descriptions: new Set([...SAID, ...FOR_WRITERS]),
  inner: { keywords: new Set([...LIMITS, 'required']), descriptions: new Set([...SAID, ...FOR_WRITERS]) },
};

/** The largest number that a column holds: nobody comes near it. */
const UNBOUNDED = 2 ** 31 - 1;

/** @param left_out what is not said; a schema of additional properties always is. */
function explicit(given: JsonObject, left_out: LeftOut): JsonObject {
  const { keywords, descriptions, inner = left_out } = left_out;
  const is_said = ([keyword, value]: [string, unknown]): boolean =>
    keyword === 'description'
      ? !descriptions.has(value)
      : (value !== UNBOUNDED && !keywords.has(keyword)) || (keyword === 'additionalProperties' && isObject(value));
  const schema = Object.fromEntries(Object.entries(given).filter(is_said));
  // An empty list of required members says nothing.
  if (Array.isArray(schema['required']) && schema['required'].length === 0) delete schema['required'];
  const said = Object.keys(schema).some((keyword) => !ANNOTATIONS.has(keyword));
  const result: JsonObject = said ? schema : { ...schema, ...(left_out === OF_INPUT ? ANY_ARGUMENT : ANY_ANSWER) };
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

/** From so many characters on, saying a schema again costs a model more than looking it up. */
const WORTH = 120;

/** Says each larger object of the answers once: where another tool gives the same, its name stands. */
export function createSayOnce(): SayOnce {
  const first = new Map<string, string>();
  const inner = (schema: JsonObject, tool: string): JsonObject => {
    const { description, required: _, ...said } = schema;
    const key = isObject(said['properties']) ? JSON.stringify(said) : '';
    const known = key.length < WORTH ? undefined : first.get(key);
    const about = typeof description === 'string' ? `${description}. ` : '';
    if (known !== undefined) return { type: 'object', description: `${about}Fields as ${known} gives them` };
    if (key.length >= WORTH) first.set(key, tool);
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
