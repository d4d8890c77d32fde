import * as v from 'valibot';
import { canonical } from '#snapshots/format/canonical.ts';

/** The schema within optional and nullable wrappers. */
const inside = (schema: v.GenericSchema): v.GenericSchema =>
  (schema.type === 'optional' || schema.type === 'nullable') && 'wrapped' in schema
    ? inside(schema.wrapped as v.GenericSchema)
    : schema;

const entriesOf = (schema: v.GenericSchema): v.ObjectEntries | null =>
  'entries' in schema ? (schema.entries as v.ObjectEntries) : null;

/** The entries of an object schema, or of the items of a list. */
function itemEntries(schema: v.GenericSchema): v.ObjectEntries | null {
  const inner = inside(schema);
  return inner.type === 'array' && 'item' in inner ? entriesOf(inside(inner.item as v.GenericSchema)) : entriesOf(inner);
}

/** Removes fields that have their default value, and sorts the others as in the contract. */
export function withoutDefaults(schema: v.GenericSchema, value: unknown): unknown {
  if (Array.isArray(value)) {
    const inner = inside(schema);
    const item = inner.type === 'array' && 'item' in inner ? (inner.item as v.GenericSchema) : null;
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
