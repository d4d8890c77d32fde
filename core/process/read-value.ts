import * as v from 'valibot';
import { isShown } from '#core/contract/fields.ts';

/**
 * Reads a value by its schema. A list is no object, though it has names: valibot would read it as one. A text that shows nothing is empty
 * where people read it.
 */
export const readValue = <S extends v.GenericSchema>(schema: S, value: unknown): v.SafeParseResult<S> =>
  readStored(schema, walked(schema as unknown as Node, value, shown));

/** As `readValue`, of what may have been stored before such texts were refused. */
export const readStored = <S extends v.GenericSchema>(schema: S, value: unknown): v.SafeParseResult<S> =>
  v.safeParse(schema, walked(schema as unknown as Node, value), { abortPipeEarly: true });

/** The parts of schemas that say what a value is made of. */
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

/** Every schema refuses it. */
const LIST = Symbol('a list');

/** The value with something that no schema takes in the place of lists where objects are declared, and of texts that show nothing. */
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
/** Or objects, which would take one too. */
const takesLists = (schema: Node): boolean =>
  isObject(schema) || ['array', 'tuple', 'any', 'unknown', 'custom', 'lazy', 'union', 'variant'].includes(bare(schema).type);
