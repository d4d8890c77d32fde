import type * as v from 'valibot';
import { type Marks, marksOf, openNames } from '#core/contract/marks.ts';
import type { FormSchema } from '#ui/src/kernel/form/form.ts';

/** What a field takes, read from its schema. */
interface Kind {
  readonly type: 'text' | 'number' | 'flag' | 'choice' | 'list' | 'other';
  /** Null is a value: not set. */
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
    values: at.options ?? [],
    ...(typeof least === 'number' ? { least } : {}),
    ...(typeof most === 'number' ? { most } : {}),
  };
}

/** The schema of a form's field and its marks. A field without marks is called by its name. */
export function fieldOf(schema: FormSchema, name: string): { readonly kind: Kind; readonly marks: Marks } {
  const entries = 'entries' in schema ? (schema.entries as Readonly<Record<string, v.GenericSchema>>) : {};
  const found = entries[name];
  if (found === undefined) throw new Error(`The form has no field ${name}.`);
  return { kind: kindOf(found), marks: marksOf(found) ?? { label: name } };
}

/** Whether a definition leaves a field to administrators. Forms without fields that are open to others have rights of their own. */
export function isAdministered(schema: FormSchema, name: string): boolean {
  const open = openNames('entries' in schema ? (schema.entries as v.ObjectEntries) : {});
  return open.size > 0 && !open.has(name);
}

/** What "nothing" is called in a choice that may be left open. */
export const NOT_SET = 'null';

/** The choices of a picklist, or of yes and no that may be left open. */
export function choicesOf({ type, nullable, values }: Kind, { choices = {} }: Marks) {
  const all = type === 'flag' ? ['true', 'false'] : values;
  return [...(nullable ? [NOT_SET] : []), ...all].map((value) => {
    const { label, help } = choices[value] ?? { label: value === NOT_SET ? 'Not set' : value };
    return { value, label, hint: help };
  });
}
