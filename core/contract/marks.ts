import * as v from 'valibot';

/** A choice of a closed list as people read it. */
export interface Choice {
  readonly label: string;
  readonly help?: string;
}

type Item = Readonly<Record<string, unknown>>;

/** How a field is drawn where its type does not say it. */
export type Control = 'cards' | 'mono' | 'url' | 'email' | 'area' | 'code';

/**
 * What a field says of itself, once: forms, diffs, history, conflicts, import, rights of tokens and the API description read it
 * here. `undefined` of a flag means no.
 */
export interface Marks {
  readonly label: string;
  /** One sentence: what it does, then the default. */
  readonly help?: string;
  readonly unit?: string;
  readonly placeholder?: string;
  readonly control?: Control;
  /** The values of a picklist. */
  readonly choices?: Readonly<Record<string, Choice>>;
  /** Written and never read. */
  readonly secret?: true;
  /** A token may change it (contract section 2); without this mark it is an administrator's alone. */
  readonly open?: true;
  /** Only a signed-in person may change it, whether it is open or not. */
  readonly people?: true;
  /** A change sends kept secrets elsewhere, so a token has to send them again. */
  readonly address?: true;
  /** What differs in a bundle for Workers, and in one for a process: each completes a sentence that begins with the name. */
  readonly bundled?: { readonly workers: string; readonly process: string };
  /** The sentence for a client that a change may break; null when it is harmless. */
  readonly breaking?: (now: unknown, old: unknown, whole: { readonly old: Item; readonly now: Item }) => string | null;
}

const MARKS: unique symbol = Symbol('marks');

/** A schema with its marks. It validates as before, and no client sees the marks. With a default it need not be sent. */
export function field<S extends v.GenericSchema, const D extends v.Default<S, undefined>>(
  schema: S,
  marks: Marks & { readonly default: D },
): v.OptionalSchema<S, D>;
export function field<S extends v.GenericSchema>(schema: S, marks: Marks): S;
export function field(schema: v.GenericSchema, { default: fallback, ...marks }: Marks & { readonly default?: unknown }) {
  const own = { ...schema, [MARKS]: marks };
  return fallback === undefined ? own : v.optional(own, fallback);
}

/** The marks of a field, whether they stand on it or on what it wraps. */
export function marksOf(schema: v.GenericSchema): Marks | undefined {
  if (MARKS in schema) return schema[MARKS] as Marks;
  return 'wrapped' in schema ? marksOf(schema.wrapped as v.GenericSchema) : undefined;
}

/** Fields of a noun that have a mark, in their order. */
export const marked = <E extends v.ObjectEntries>(
  entries: E,
  has: (marks: Marks) => boolean = () => true,
): readonly (readonly [name: keyof E & string, marks: Marks])[] =>
  Object.entries(entries).flatMap(([name, schema]) => {
    const marks = marksOf(schema);
    return marks !== undefined && has(marks) ? [[name, marks] as const] : [];
  });

/** What the fields of a noun are called. */
export const labelsIn = (entries: v.ObjectEntries): Readonly<Record<string, string>> =>
  Object.fromEntries(marked(entries).map(([name, { label }]) => [name, label]));

/** Names of the fields that a token may change. */
export const openNames = (entries: v.ObjectEntries): ReadonlySet<string> =>
  new Set(marked(entries, ({ open }) => open === true).map(([name]) => name));

/** Names of the fields that no token may change. */
export const closedNames = (entries: v.ObjectEntries): readonly string[] =>
  marked(entries, ({ open, people }) => open !== true || people === true).map(([name]) => name);

/**
 * An object of JSON Schema whose fields say what their marks say. A schema of several steps loses its marks where it is converted
 * by itself, so they are read where the object names it. @returns undefined: it is no object, or nothing is said.
 */
export function describedFields(
  { valibotSchema, jsonSchema }: { readonly valibotSchema: object; readonly jsonSchema: object },
  say: (marks: Marks, description: string | undefined) => string | undefined,
): object | undefined {
  if (!('entries' in valibotSchema) || !('properties' in jsonSchema)) return undefined;
  const properties = { ...(jsonSchema.properties as Record<string, Item>) };
  for (const [name, marks] of marked(valibotSchema.entries as v.ObjectEntries)) {
    const field = properties[name];
    const description = field === undefined ? undefined : say(marks, field['description'] as string | undefined);
    if (field !== undefined && description !== undefined) properties[name] = { ...field, description };
  }
  return { ...jsonSchema, properties };
}

/** The field as an API describes it: what it is, then its unit. */
export const described = ({ label, help, unit }: Marks): string =>
  [`${label}${unit === undefined ? '' : ` (${unit})`}.`, ...(help === undefined ? [] : [help])].join(' ');
