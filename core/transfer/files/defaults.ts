import * as v from 'valibot';
import { canonical } from '#snapshots/format/canonical.ts';

/** The schema inside what makes it optional or nullable. */
const inside = (schema: v.GenericSchema): v.GenericSchema =>
  (schema.type === 'optional' || schema.type === 'nullable') && 'wrapped' in schema
    ? inside(schema.wrapped as v.GenericSchema)
    : schema;

const entriesOf = (schema: v.GenericSchema): v.ObjectEntries | null =>
  'entries' in schema ? (schema.entries as v.ObjectEntries) : null;

/** The entries of the objects in a value, whether it is one or a list of them. */
function itemEntries(schema: v.GenericSchema): v.ObjectEntries | null {
  const own = inside(schema);
  return own.type === 'array' && 'item' in own ? entriesOf(inside(own.item as v.GenericSchema)) : entriesOf(own);
}

/** A value as a person writes it: fields in the order of the contract, and none that has its default. */
export function withoutDefaults(schema: v.GenericSchema, value: unknown): unknown {
  if (Array.isArray(value)) {
    const own = inside(schema);
    const item = own.type === 'array' && 'item' in own ? (own.item as v.GenericSchema) : null;
    return item === null ? value : value.map((entry) => withoutDefaults(item, entry));
  }
  const entries = itemEntries(schema);
  if (entries === null || typeof value !== 'object' || value === null) return value;
  const given = value as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(entries).flatMap(([name, field]) => {
      if (given[name] === undefined || isDefault(field, given[name])) return [];
      return [[name, withoutDefaults(field, given[name])]];
    }),
  );
}

function isDefault(field: v.GenericSchema, value: unknown): boolean {
  const absent = v.safeParse(field, undefined);
  return absent.success && absent.output !== undefined && canonical(absent.output) === canonical(value);
}
