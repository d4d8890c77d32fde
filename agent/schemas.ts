import { toJsonSchema } from '@valibot/to-json-schema';
import type * as v from 'valibot';

export type JsonObject = Record<string, unknown>;

/** Whatever JSON holds. Some clients take a schema without a keyword for a mistake. */
const ANYTHING = { anyOf: ['string', 'number', 'boolean', 'object', 'array', 'null'].map((type) => ({ type })) };
const ANNOTATIONS = new Set(['description', 'default', 'title']);
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];

/** A schema of the contract as JSON Schema that every client reads: it says of each value what it may be. */
export function schemaOf(schema: v.GenericSchema, typeMode: 'input' | 'output'): JsonObject {
  const { $schema: _, ...rest } = toJsonSchema(schema, { typeMode, errorMode: 'ignore' }) as JsonObject;
  return explicit(rest);
}

function explicit(schema: JsonObject): JsonObject {
  const said = Object.keys(schema).some((keyword) => !ANNOTATIONS.has(keyword));
  const result: JsonObject = said ? { ...schema } : { ...schema, ...ANYTHING };
  if (isObject(schema['properties'])) {
    result['properties'] = Object.fromEntries(
      Object.entries(schema['properties']).map(([name, item]) => [name, isObject(item) ? explicit(item) : item]),
    );
  }
  if (isObject(schema['items'])) result['items'] = explicit(schema['items']);
  const rest = schema['additionalProperties'];
  if (isObject(rest)) result['additionalProperties'] = Object.keys(rest).length === 0 ? true : explicit(rest);
  for (const keyword of LISTS) {
    const list = schema[keyword];
    if (Array.isArray(list)) result[keyword] = list.map((item: unknown) => (isObject(item) ? explicit(item) : item));
  }
  return result;
}

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);
