import type * as v from 'valibot';
import { type Choice, type Marks, marked, marksOf, openNames, valuesOf } from '#core/contract/marks.ts';
import { minutesWord } from '#ui/src/kernel/words.ts';
import type { FormSchema } from '#ui/src/kernel/form/form.ts';

/** The type of a field, read from its schema. */
interface Kind {
  readonly type: 'text' | 'number' | 'flag' | 'choice' | 'list' | 'other';
  /** Allows null: not set. */
  readonly nullable: boolean;
  readonly least?: number;
  readonly most?: number;
  readonly values: readonly string[];
}

const TYPES: Readonly<Record<string, Kind['type']>> = {
  string: 'text',
  number: 'number',
  boolean: 'flag',
  picklist: 'choice',
  array: 'list',
};

interface Looked {
  readonly type: string;
  readonly wrapped?: Looked;
  readonly pipe?: readonly { readonly type: string; readonly requirement?: unknown }[];
  readonly options?: readonly string[];
  readonly item?: Looked;
}

export function kindOf(schema: v.GenericSchema): Kind {
  let at = schema as unknown as Looked;
  let nullable = false;
  for (; at.wrapped !== undefined; at = at.wrapped) nullable ||= at.type === 'nullable';
  const bound = (type: string) => at.pipe?.find((action) => action.type === type)?.requirement;
  const [least, most] = [bound('min_value'), bound('max_value')];
  return {
    type: TYPES[at.type] ?? 'other',
    nullable,
    values: at.options ?? at.item?.options ?? [],
    ...(typeof least === 'number' ? { least } : {}),
    ...(typeof most === 'number' ? { most } : {}),
  };
}

/** The schema of a form field and its marks. A field without marks is labelled with its name. @param path may lead into a list. */
export function fieldOf(schema: FormSchema, path: string): { readonly kind: Kind; readonly marks: Marks } {
  const steps = path.split('.');
  let found: v.GenericSchema = schema;
  for (const step of steps) {
    const next = memberOf(found, step);
    if (next === undefined) throw new Error(`The form has no field ${path}.`);
    found = next;
  }
  return { kind: kindOf(found), marks: marksOf(found) ?? { label: steps.at(-1) ?? path } };
}

/** A member of an object, or the rows of a list, whatever wraps them. */
function memberOf(schema: v.GenericSchema, step: string): v.GenericSchema | undefined {
  if ('wrapped' in schema) return memberOf(schema.wrapped as v.GenericSchema, step);
  if ('item' in schema) return schema.item as v.GenericSchema;
  return 'entries' in schema ? (schema.entries as Readonly<Record<string, v.GenericSchema>>)[step] : undefined;
}

/** Whether only administrators may edit a field of a definition. Forms without any open field check permissions themselves. */
export function isAdministered(schema: FormSchema, path: string): boolean {
  const open = openNames('entries' in schema ? (schema.entries as v.ObjectEntries) : {});
  const [name = path] = path.split('.');
  return open.size > 0 && !open.has(name);
}

/** The names of the fields of a list's rows that have marks, in the order of the contract. */
export function rowFieldsOf(schema: FormSchema, list: string): readonly string[] {
  const row = list
    .split('.')
    .concat('0')
    .reduce<v.GenericSchema | undefined>((at, step) => at && memberOf(at, step), schema);
  return row !== undefined && 'entries' in row ? marked(row.entries as v.ObjectEntries).map(([name]) => name) : [];
}

/** The options of a closed list, as its choices label them. */
export const optionsOf = <C extends Readonly<Record<string, Choice>>>(choices: C) =>
  valuesOf(choices).map((value) => ({ value, label: choices[value]?.label ?? value, hint: choices[value]?.help }));

/** The option value of null in an optional choice. */
export const NOT_SET = 'null';

/** The options of a number that a form offers to choose from; a stored one that is none of them is offered as well. */
export function presetsOf({ nullable }: Kind, marks: Marks, current: unknown) {
  const presets = marks.presets ?? [];
  const numbers = typeof current === 'number' && !presets.includes(current) ? [...presets, current] : presets;
  const words = marks.unit === 'minutes' ? minutesWord : String;
  const options = numbers.map((value) => ({ value: String(value), label: words(value) }));
  return nullable ? [{ value: NOT_SET, label: marks.choices?.[NOT_SET]?.label ?? 'Not set' }, ...options] : options;
}

/** The options of a picklist, or of an optional yes/no choice. */
export function choicesOf({ type, nullable, values }: Kind, { choices = {} }: Marks) {
  const all = type === 'flag' ? ['true', 'false'] : type === 'number' ? Object.keys(choices) : values;
  return [...(nullable ? [NOT_SET] : []), ...all].map((value) => {
    const { label, help } = choices[value] ?? { label: value === NOT_SET ? 'Not set' : value };
    return { value, label, hint: help };
  });
}
