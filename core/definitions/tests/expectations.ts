import { cut } from '#core/lib/text/shorten.ts';
import type { Expect } from '#core/contract/definitions/tests.ts';
import type { Json, Row } from '#core/lib/sql/result.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { estimateTokens } from '#core/lib/tokens.ts';

/** What a call gave. */
export interface CalledResult {
  readonly ms: number;
  /** Why it failed, as its caller reads it, with its code; null: it did not. */
  readonly error: { readonly code: string; readonly message: string; readonly sqlstate: string | null } | null;
  /** Null: it has none, as prompts. */
  readonly columns: readonly string[] | null;
  readonly rows: readonly Row[] | null;
  /** The forms in which the whole result may be written down, the one that clients get first. */
  readonly results: readonly Json[];
  /** What a model reads. */
  readonly text: string;
}

type Judge = (expect: Expect, called: CalledResult) => readonly string[];

/** What of the expectations does not hold, as sentences. They quote what was expected and no value of the result. */
export function failuresOf(expect: Expect, called: CalledResult): string[] {
  const { error } = expect;
  const slow = JUDGES.max_ms(expect, called);
  if (error !== undefined) return [...failedAsExpected(error, called), ...slow];
  if (called.error !== null) return [`The call failed: ${called.error.message}`, ...slow];
  return Object.values(JUDGES).flatMap((judge) => judge(expect, called));
}

function failedAsExpected(wanted: true | string, { error }: CalledResult): string[] {
  if (error === null) return ['The call succeeded, but it must fail.'];
  if (wanted === true || error.message.toLowerCase().includes(wanted.toLowerCase())) return [];
  return [`The error does not contain ${quote(wanted)}. It is: ${error.message}`];
}

const JUDGES = {
  columns: ({ columns = [] }, { columns: has }) =>
    columns.filter((name) => has?.includes(name) !== true).map((name) => `The column ${name} is missing.`),
  absent_columns: ({ absent_columns = [] }, { columns: has }) =>
    absent_columns.filter((name) => has?.includes(name) === true).map((name) => `The column ${name} must not be there.`),
  rows({ rows }, { rows: has }) {
    const n = has?.length ?? 0;
    if (rows?.min !== undefined && n < rows.min) return [`The result has ${plural(n)}, fewer than ${rows.min}.`];
    if (rows?.max !== undefined && n > rows.max) return [`The result has ${plural(n)}, more than ${rows.max}.`];
    return [];
  },
  contains: ({ contains = [] }, { rows }) =>
    contains.filter((wanted) => rows?.some((row) => holds(row, wanted)) !== true).map((wanted) => `No row has ${quote(wanted)}.`),
  equals({ equals }, { results }) {
    if (equals === undefined || results.some((result) => canonical(result) === canonical(equals))) return [];
    const same = results.find((result) => kindOf(result) === kindOf(equals)) ?? results[0] ?? null;
    return [differenceOf(equals, same, '')];
  },
  max_ms: ({ max_ms }, { ms }) =>
    max_ms === undefined || ms <= max_ms ? [] : [`The call took ${Math.round(ms)} ms, more than ${max_ms} ms.`],
  max_bytes({ max_bytes }, { text }) {
    const bytes = Buffer.byteLength(text);
    return max_bytes === undefined || bytes <= max_bytes ? [] : [`The result has ${bytes} bytes, more than ${max_bytes}.`];
  },
  max_tokens({ max_tokens }, { text }) {
    const tokens = max_tokens === undefined ? 0 : estimateTokens(text);
    return max_tokens === undefined || tokens <= max_tokens
      ? []
      : [`The result has about ${tokens} tokens, more than ${max_tokens}.`];
  },
} satisfies Record<string, Judge>;

const plural = (n: number): string => (n === 1 ? '1 row' : `${n} rows`);

const holds = (row: Row, wanted: Readonly<Record<string, unknown>>): boolean =>
  Object.entries(wanted).every(([name, value]) => Object.hasOwn(row, name) && canonical(row[name]) === canonical(value));

const kindOf = (value: unknown): string => (Array.isArray(value) ? 'list' : value === null ? 'null' : typeof value);

const MOST_QUOTED = 200;
function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return cut(text, MOST_QUOTED);
}

/** The first place where a result is another than the expected one. */
function differenceOf(wanted: unknown, has: unknown, path: string): string {
  const where = path === '' ? 'The result' : path;
  if (kindOf(wanted) !== kindOf(has)) return `${where} is not ${quote(wanted)}.`;
  if (Array.isArray(wanted) && Array.isArray(has)) {
    const at = wanted.findIndex((item, n) => n >= has.length || canonical(item) !== canonical(has[n]));
    if (at >= 0 && at < has.length) return differenceOf(wanted[at], has[at], `${path}[${at}]`);
    return `${where} has ${has.length} items instead of ${wanted.length}.`;
  }
  if (typeof wanted !== 'object' || wanted === null) return `${where} is not ${quote(wanted)}.`;
  const [old, now] = [wanted, has] as Readonly<Record<string, unknown>>[];
  const name = Object.keys(old ?? {}).find(
    (key) => !Object.hasOwn(now ?? {}, key) || canonical(old?.[key]) !== canonical(now?.[key]),
  );
  const inner = (key: string) => (path === '' ? key : `${path}.${key}`);
  if (name !== undefined) {
    return Object.hasOwn(now ?? {}, name) ? differenceOf(old?.[name], now?.[name], inner(name)) : `${inner(name)} is missing.`;
  }
  const extra = Object.keys(now ?? {}).find((key) => !Object.hasOwn(old ?? {}, key));
  return `${inner(extra ?? '')} is not expected.`;
}
