import * as v from 'valibot';
import { isShown } from '#core/contract/fields.ts';

/**
 * Parses a value with its schema. Arrays are not accepted as objects, which valibot would allow. In texts that people read, a
 * text without visible characters counts as empty.
 */
export const readValue = <S extends v.GenericSchema>(schema: S, value: unknown): v.SafeParseResult<S> =>
  readStored(schema, walked(schema, value, shown));

/** Like `readValue`, for stored values: they may contain texts without visible characters from before these were refused. */
export const readStored = <S extends v.GenericSchema>(schema: S, value: unknown): v.SafeParseResult<S> =>
  v.safeParse(schema, walked(schema, value), { abortPipeEarly: true });

/** The members of schemas that describe structure. */
interface Node {
  readonly type: string;
  readonly wrapped?: Node;
  readonly entries?: Readonly<Record<string, Node>>;
  readonly value?: Node;
  readonly item?: Node;
  readonly options?: readonly Node[];
}

type TextOf = (schema: Node, text: string) => string;
const shown: TextOf = (schema, text) => (isShown(schema) && !/[^\s\p{C}]/u.test(text) ? '' : text);

/** A value that every schema refuses. */
const LIST = Symbol('a list');

/** Replaces arrays where an object is declared, and texts without visible characters, with a value that every schema refuses. */
function walked(schema: Node, value: unknown, textOf: TextOf = (_, text) => text): unknown {
  if (schema.wrapped !== undefined) return walked(schema.wrapped, value, textOf);
  if (typeof value === 'string') return textOf(schema, value);
  if (typeof value !== 'object' || value === null) return value;
  const { entries, options, item } = schema;
  const of_all = schema.type === 'record' ? schema.value : undefined;
  if (options !== undefined) {
    const objects = options.filter(isObject);
    if (objects.length === 0 || (Array.isArray(value) && objects.length < options.filter(takesLists).length)) return value;
    return Array.isArray(value) ? LIST : objects.length === 1 ? walked(objects[0] as Node, value, textOf) : value;
  }
  if (Array.isArray(value)) {
    if (entries !== undefined || of_all !== undefined) return LIST;
    return item === undefined
      ? value
      : unlessSame(
          value,
          value.map((one) => walked(item, one, textOf)),
        );
  }
  if (of_all === undefined && entries === undefined) return value;
  const now = Object.entries(value).map(([name, one]) => {
    const inner = of_all ?? (Object.hasOwn(entries!, name) ? entries![name] : undefined);
    return [name, inner === undefined ? one : walked(inner, one, textOf)] as const;
  });
  return now.every(([name, one]) => one === (value as Readonly<Record<string, unknown>>)[name]) ? value : Object.fromEntries(now);
}

const unlessSame = <T>(before: readonly T[], after: readonly T[]): readonly T[] =>
  after.every((one, n) => one === before[n]) ? before : after;

const bare = (schema: Node): Node => (schema.wrapped === undefined ? schema : bare(schema.wrapped));
const isObject = (schema: Node): boolean => bare(schema).entries !== undefined || bare(schema).type === 'record';
/** Object schemas count too, because valibot would accept an array for them. */
const takesLists = (schema: Node): boolean =>
  isObject(schema) || ['array', 'tuple', 'any', 'unknown', 'custom', 'lazy', 'union', 'variant'].includes(bare(schema).type);
