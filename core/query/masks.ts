import { createHmac, hkdfSync } from 'node:crypto';
import type { Mask, MaskKind } from '#core/contract/definitions/masks.ts';
import type { FieldError } from '#core/errors.ts';
import type { Column, Json, QueryResult, Row } from '#core/lib/sql/result.ts';

/** A mask in a snapshot; `columns` are the column's names in the result, in lower case. */
export interface MaskRule extends Omit<Mask, 'column'> {
  readonly columns: readonly string[];
}

/** Returns the same hash for the same text as long as the encryption key stays. It cannot be reversed. */
export type Pseudonym = (text: string) => string;

/** @param keys `SVC_ENCRYPTION_KEY`, newest first. */
export function createPseudonym([newest = '']: readonly string[]): Pseudonym {
  const key = new Uint8Array(hkdfSync('sha256', newest, 'sluice', 'mask-hash/1', 32));
  return (text) => createHmac('sha256', key).update(text).digest('base64url').slice(0, HASH_LENGTH);
}

/** 128 bits. */
const HASH_LENGTH = 22;
const STARS = '***';

/** A described column with the column that it comes from, if the database reports it. */
export type TracedColumn = Column & { readonly origin?: string | null };

/** @param columns the columns that the database described, or null if it could not. */
export const toRules = (masks: readonly Mask[], columns: readonly TracedColumn[] | null): MaskRule[] =>
  masks.map(({ column, mask, unless_groups }) => {
    const lower_column = column.toLowerCase();
    const traced = (columns ?? [])
      .filter(({ origin }) => origin?.toLowerCase() === lower_column)
      .map(({ name }) => name.toLowerCase());
    return { columns: [...new Set([lower_column, ...traced])], mask, unless_groups };
  });

/** Returns a fault for each mask whose column is not in the result. */
export function unknownMasks(masks: readonly Mask[], columns: readonly TracedColumn[] | null): FieldError[] {
  if (columns === null) return [];
  const rules = toRules(masks, columns);
  return masks.flatMap(({ column }, n) => {
    if (columns.some(({ name }) => covers(rules[n]!, name.toLowerCase(), columns))) return [];
    const message = `The result has no column ${column}. Its columns are ${columns.map(({ name }) => name).join(', ')}.`;
    return [{ field: `masks.${n}.column`, message }];
  });
}

/** If two columns have the same name, the second is called name_2 in the result. */
function covers({ columns: masked_names }: MaskRule, name: string, columns: readonly Column[]): boolean {
  if (masked_names.includes(name)) return true;
  const [, base] = /^(.+)_\d+$/.exec(name) ?? [];
  return base !== undefined && masked_names.includes(base) && columns.some((column) => column.name.toLowerCase() === base);
}

const ruleOf = (rules: readonly MaskRule[], { name }: Column, columns: readonly Column[]): MaskRule | undefined =>
  rules.find((rule) => covers(rule, name.toLowerCase(), columns));

export const maskOf = (rules: readonly MaskRule[], column: Column, columns: readonly Column[]): MaskKind | undefined =>
  ruleOf(rules, column, columns)?.mask;

/** The rules that apply to a caller with these groups. */
const rulesFor = (rules: readonly MaskRule[], groups: readonly string[]): readonly MaskRule[] =>
  rules.filter(({ unless_groups }) => !unless_groups.some((group) => groups.includes(group)));

/** Tells apart callers with different rules in cache keys: callers of one class see the same values in the same rows. */
export const maskClass = (rules: readonly MaskRule[], groups: readonly string[]): string =>
  rules.map(({ unless_groups }) => (unless_groups.some((group) => groups.includes(group)) ? '0' : '1')).join('');

/** The columns of a result after masking. */
interface MaskedColumns {
  readonly found: readonly { readonly name: string; readonly mask: MaskKind }[];
  readonly columns: readonly Column[];
}

/** The masked columns that callers with these groups see unmasked. */
export const liftedColumns = (rules: readonly MaskRule[], groups: readonly string[]): string[] =>
  rules.flatMap(({ columns: [column], unless_groups }) =>
    column !== undefined && unless_groups.some((group) => groups.includes(group)) ? [column] : [],
  );

function maskColumns(columns: readonly Column[], rules: readonly MaskRule[]): MaskedColumns {
  const masks = columns.map((column) => maskOf(rules, column, columns));
  return {
    found: columns.flatMap(({ name }, n) => {
      const mask = masks[n];
      return mask === undefined ? [] : [{ name, mask }];
    }),
    columns: columns.flatMap((column, n) => maskedColumn(column, masks[n])),
  };
}

const toMasked = (result: QueryResult, { found, columns }: MaskedColumns, pseudonym: Pseudonym): QueryResult =>
  found.length === 0 ? result : { ...result, columns, rows: result.rows.map((row) => maskRow(row, found, pseudonym)) };

export type MaskFor = (result: QueryResult, groups: readonly string[], pseudonym: Pseudonym) => QueryResult;

/**
 * Masks the columns of results and removes all masked values. Null stays null. One is built for each definition: a cached
 * statement always has the same column array.
 */
export function createMasker(rules: readonly MaskRule[]): MaskFor {
  const classes = new Map<
    string,
    { readonly rules: readonly MaskRule[]; readonly seen: WeakMap<readonly Column[], MaskedColumns> }
  >();
  return (result, groups, pseudonym) => {
    const name = maskClass(rules, groups);
    let known = classes.get(name);
    if (known === undefined) classes.set(name, (known = { rules: rulesFor(rules, groups), seen: new WeakMap() }));
    let masked = known.seen.get(result.columns);
    if (masked === undefined) known.seen.set(result.columns, (masked = maskColumns(result.columns, known.rules)));
    return toMasked(result, masked, pseudonym);
  };
}

function maskRow(row: Row, found: readonly { name: string; mask: MaskKind }[], pseudonym: Pseudonym): Row {
  const masked: Row = { ...row };
  for (const { name, mask } of found) {
    if (mask === 'remove') delete masked[name];
    else if (Object.hasOwn(masked, name)) masked[name] = maskValue(masked[name] ?? null, mask, pseudonym);
  }
  return masked;
}

function maskedColumn(column: Column, mask: MaskKind | undefined): Column[] {
  if (mask === undefined || mask === 'null') return [column];
  return mask === 'remove' ? [] : [{ name: column.name, type: 'text', kind: 'string' }];
}

/** Masks an argument; for a list, each element. */
export function maskArgument(value: unknown, mask: Exclude<MaskKind, 'remove'>, pseudonym: Pseudonym): Json {
  if (Array.isArray(value) && mask !== 'null') return value.map((member) => maskArgument(member, mask, pseudonym));
  if (value === null) return null;
  if (typeof value === 'string') return VALUES[mask](value, pseudonym);
  return typeof value === 'object' ? STARS : VALUES[mask](JSON.stringify(value), pseudonym);
}

const maskValue = (value: Json, mask: Exclude<MaskKind, 'remove'>, pseudonym: Pseudonym): Json =>
  value === null ? null : VALUES[mask](typeof value === 'string' ? value : JSON.stringify(value), pseudonym);

const VALUES: Readonly<Record<Exclude<MaskKind, 'remove'>, (text: string, pseudonym: Pseudonym) => string | null>> = {
  null: () => null,
  text: () => STARS,
  hash: (text, pseudonym) => pseudonym(text),
  // Four characters would reveal most of a short value.
  last4(text) {
    const letters = Array.from(text);
    return letters.length < 8 ? '****' : `****${letters.slice(-4).join('')}`;
  },
  email(text) {
    const at = text.lastIndexOf('@');
    return at < 1 || /[\s@]/.test(text.slice(at + 1)) || at === text.length - 1
      ? STARS
      : `${Array.from(text)[0]}${STARS}${text.slice(at)}`;
  },
  year: (text) => /^(-?\d{4,6})-\d{2}/.exec(text)?.[1] ?? null,
};

/** A column in the output schema of a tool. */
export interface SchemaColumn extends Column {
  /** How the value is masked. */
  readonly note?: string;
  /** The unmasked column, if some callers see it. */
  readonly both?: Column;
  /** Some callers do not get this column. */
  readonly missing?: true;
}

const NOTES: Readonly<Record<MaskKind, string>> = {
  remove: 'Left out',
  null: 'Masked: always null',
  text: `Masked: ${STARS}`,
  hash: 'Masked: a hash, equal for equal values',
  last4: 'Masked: only the last four characters',
  email: 'Masked: only the first letter and the domain',
  year: 'Masked: only the year',
};

/** The columns that callers see, with a note at each masked one. */
export function schemaColumns(columns: readonly TracedColumn[] | null, masks: readonly Mask[]): readonly SchemaColumn[] | null {
  if (columns === null || masks.length === 0) return columns;
  const rules = toRules(masks, columns);
  return columns.flatMap((column): SchemaColumn[] => {
    const rule = ruleOf(rules, column, columns);
    if (rule === undefined) return [column];
    const is_for_all = rule.unless_groups.length === 0;
    const note = is_for_all ? NOTES[rule.mask] : `${NOTES[rule.mask]} for some callers`;
    if (rule.mask === 'remove') return is_for_all ? [] : [{ ...column, note, missing: true }];
    return maskedColumn(column, rule.mask).map((masked) => ({ ...masked, note, ...(is_for_all ? {} : { both: column }) }));
  });
}
