import { cut } from '#core/lib/text/shorten.ts';
import type { Expect } from '#core/contract/definitions/tests.ts';
import type { Json, Row } from '#core/lib/sql/result.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { estimateTokens } from '#core/lib/tokens.ts';

/** The outcome of a call. */
export interface CalledResult {
  readonly ms: number;
  /** The error as its caller reads it; null when the call succeeded. */
  readonly error: { readonly code: string; readonly message: string; readonly sqlstate: string | null } | null;
  /** Null for a prompt. */
  readonly columns: readonly string[] | null;
  readonly rows: readonly Row[] | null;
  /** The forms of the whole result that an expectation can equal. The one that clients get comes first. */
  readonly results: readonly Json[];
  /** The text that a model reads. */
  readonly text: string;
}

type Check = (expect: Expect, called: CalledResult) => readonly string[];

/** Unmet expectations, as sentences. They quote the expected value, and no value of the result. */
export function failuresOf(expect: Expect, called: CalledResult): string[] {
  const { error } = expect;
  const slow = CHECKS.max_ms(expect, called);
  if (error !== undefined) return [...failedAsExpected(error, called), ...slow];
  if (called.error !== null) return [`The call failed: ${called.error.message}`, ...slow];
  return Object.values(CHECKS).flatMap((check) => check(expect, called));
}

function failedAsExpected(expected: true | string, { error }: CalledResult): string[] {
  if (error === null) return ['The call succeeded, but it must fail.'];
  if (expected === true || error.message.toLowerCase().includes(expected.toLowerCase())) return [];
  return [`The error does not contain ${quote(expected)}. It is: ${error.message}`];
}

const CHECKS = {
  columns: ({ columns = [] }, { columns: actual }) =>
    columns.filter((name) => actual?.includes(name) !== true).map((name) => `The column ${name} is missing.`),
  absent_columns: ({ absent_columns = [] }, { columns: actual }) =>
    absent_columns.filter((name) => actual?.includes(name) === true).map((name) => `The column ${name} must not be there.`),
  rows({ rows }, { rows: actual }) {
    const n = actual?.length ?? 0;
    if (rows?.min !== undefined && n < rows.min) return [`The result has ${plural(n)}, fewer than ${rows.min}.`];
    if (rows?.max !== undefined && n > rows.max) return [`The result has ${plural(n)}, more than ${rows.max}.`];
    return [];
  },
  contains: ({ contains = [] }, { rows }) =>
    contains
      .filter((expected) => rows?.some((row) => holds(row, expected)) !== true)
      .map((expected) => `No row has ${quote(expected)}.`),
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
} satisfies Record<string, Check>;

const plural = (n: number): string => (n === 1 ? '1 row' : `${n} rows`);

const holds = (row: Row, expected: Readonly<Record<string, unknown>>): boolean =>
  Object.entries(expected).every(([name, value]) => Object.hasOwn(row, name) && canonical(row[name]) === canonical(value));

const kindOf = (value: unknown): string => (Array.isArray(value) ? 'list' : value === null ? 'null' : typeof value);

const MAX_QUOTED = 200;
function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return cut(text, MAX_QUOTED);
}

/** Describes the first difference between a result and the expected one. @param path of the compared value in the result. */
function differenceOf(expected: unknown, actual: unknown, path: string): string {
  const where = path === '' ? 'The result' : path;
  if (kindOf(expected) !== kindOf(actual)) return `${where} is not ${quote(expected)}.`;
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const at = expected.findIndex((item, n) => n >= actual.length || canonical(item) !== canonical(actual[n]));
    if (at >= 0 && at < actual.length) return differenceOf(expected[at], actual[at], `${path}[${at}]`);
    return `${where} has ${actual.length} items instead of ${expected.length}.`;
  }
  if (typeof expected !== 'object' || expected === null) return `${where} is not ${quote(expected)}.`;
  const [old, now] = [expected, actual] as Readonly<Record<string, unknown>>[];
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
