import { plainDigits, textOf } from '#core/engines/shared/rows.ts';
import type { BoundType, Json } from '#core/lib/sql/result.ts';
import { keepsDigits } from '#core/lib/exact-json.ts';

/** A text in which the doubled quote stands for itself, and a backslash for itself too. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** A number as a statement has it: with a point, so that it is none of the whole ones. */
export function decimal(value: Json): string {
  const digits = plainDigits(textOf(value));
  return digits.includes('.') ? digits : `${digits}.0`;
}

/** Whether a double keeps the digits of a value; the product refuses others on engines without exact numbers. */
export const isExact = (value: Json): boolean => typeof value !== 'string' || keepsDigits(Number(value), value);

export const scalarOf = (type: BoundType): Exclude<BoundType, object> => (typeof type === 'string' ? type : type.array);

/** A list in brackets; none of its elements may be missing. @param none what `in` looks into when the list is empty. */
export const listIn = (values: Json, none: string, write: (value: Json) => string): string => {
  if (!Array.isArray(values)) return '(null)';
  return values.length === 0 ? none : `(${values.map(write).join(', ')})`;
};

/** Limits as a plain driver has to be told: without casts, and with a number where there is no value. */
export const withoutLimits = (text: string, limit: string): string =>
  text
    .replaceAll(/\b(limit|offset) cast\((\d+) as \w+\)/g, '$1 $2')
    .replaceAll(/\blimit (?:null\b|cast\(null as \w+\))/g, `limit ${limit}`)
    .replaceAll(/\boffset (?:null\b|cast\(null as \w+\))/g, 'offset 0');

/** A value as text, for a literal. */
export const plainText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));
