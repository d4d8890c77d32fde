import * as v from 'valibot';

/** A value of a picklist, with its label for people. */
export interface Choice {
  readonly label: string;
  readonly help?: string;
}

/** The values of a closed list, in the order of their choices. */
export const valuesOf = <C extends Readonly<Record<string, Choice>>>(choices: C) => Object.keys(choices) as (keyof C & string)[];

/** A value as people read it: its label, if it has one. */
export const labelOf = (choices: Readonly<Record<string, Choice>>, value: unknown): string =>
  choices[String(value)]?.label ?? String(value);

type Item = Readonly<Record<string, unknown>>;

/** The control of a field, if its type does not determine it. */
export type Control = 'cards' | 'mono' | 'url' | 'email' | 'area' | 'code' | 'lines';

/**
 * The properties of a field, declared once for forms, diffs, history, conflicts, import, rights of tokens and the API
 * description. A missing flag means no.
 */
export interface Marks {
  readonly label: string;
  /** One sentence: the effect, then the default. */
  readonly help?: string;
  readonly unit?: string;
  readonly placeholder?: string;
  readonly control?: Control;
  /** The numbers that a form offers to choose from. */
  readonly presets?: readonly number[];
  /** Labels of the values of a picklist. */
  readonly choices?: Readonly<Record<string, Choice>>;
  /** Can be written but not read. */
  readonly secret?: true;
  /** Tokens can change it; fields without this mark can be changed only by administrators. */
  readonly open?: true;
  /** Only signed-in people can change it, even if it is open. */
  readonly people?: true;
  /** A change sends stored secrets to another address, so a token must send the secrets again. */
  readonly address?: true;
  /**
   * Differences in a bundle for Workers and in one for a process; each completes a sentence that starts with the field's name.
   */
  readonly bundled?: { readonly workers: string; readonly process: string };
  /** Returns the sentence about a change that can break clients, or null if it is harmless. */
  readonly breaking?: (now: unknown, old: unknown, whole: { readonly old: Item; readonly now: Item }) => string | null;
}

const MARKS: unique symbol = Symbol('marks');

/** Adds marks to a schema. Validation stays the same, and clients do not see the marks. A default makes the field optional. */
export function field<S extends v.GenericSchema, const D extends v.Default<S, undefined>>(
  schema: S,
  marks: Marks & { readonly default: D },
): v.OptionalSchema<S, D>;
export function field<S extends v.GenericSchema>(schema: S, marks: Marks): S;
export function field(schema: v.GenericSchema, { default: fallback, ...marks }: Marks & { readonly default?: unknown }) {
  const marked = { ...schema, [MARKS]: marks };
  return fallback === undefined ? marked : v.optional(marked, fallback);
}

const BRIEF: unique symbol = Symbol('brief');

/** An object of answers that agents read and cannot change, so the list of their tools leaves its fields out. */
export const brief = <S extends v.GenericSchema>(schema: S): S => ({ ...schema, [BRIEF]: true });

export const isBrief = (schema: object): boolean => BRIEF in schema;

/** The marks of a field, also if another schema wraps it. */
export function marksOf(schema: v.GenericSchema): Marks | undefined {
  if (MARKS in schema) return schema[MARKS] as Marks;
  return 'wrapped' in schema ? marksOf(schema.wrapped as v.GenericSchema) : undefined;
}

/** Fields with a matching mark, in order. */
export const marked = <E extends v.ObjectEntries>(
  entries: E,
  has: (marks: Marks) => boolean = () => true,
): readonly (readonly [name: keyof E & string, marks: Marks])[] =>
  Object.entries(entries).flatMap(([name, schema]) => {
    const marks = marksOf(schema);
    return marks !== undefined && has(marks) ? [[name, marks] as const] : [];
  });

/** Labels of the fields, by name. */
export const labelsIn = (entries: v.ObjectEntries): Readonly<Record<string, string>> =>
  Object.fromEntries(marked(entries).map(([name, { label }]) => [name, label]));

/** Names of the fields that tokens can change. */
export const openNames = (entries: v.ObjectEntries): ReadonlySet<string> =>
  new Set(marked(entries, ({ open }) => open === true).map(([name]) => name));

/** Names of the fields that tokens cannot change. */
export const closedNames = (entries: v.ObjectEntries): readonly string[] =>
  marked(entries, ({ open, people }) => open !== true || people === true).map(([name]) => name);

/**
 * Adds descriptions from marks to the fields of a JSON Schema object. They are read from the object, because a piped schema loses
 * its marks when it is converted alone. @returns undefined if the schema is not an object.
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

/** The description of a field for an API: label, unit, then help. */
export const described = ({ label, help, unit }: Marks): string =>
  [`${label}${unit === undefined ? '' : ` (${unit})`}.`, ...(help === undefined ? [] : [help])].join(' ');
