import type { Json } from './sql/result.ts';

/** A number with its text: beyond 2^53 and for decimals, a JavaScript number could differ. */
export class NumberText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MARK = '\u0001';

type Keep = (value: number, source: string) => unknown;
type Parse = (text: string, keep: Keep) => unknown;

const byContext: Parse = (text, keep) =>
  JSON.parse(text, (_key: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' && context?.source !== undefined ? keep(value, context.source) : value,
  );

const byMarks: Parse = (text, keep) => {
  const marked = text.replace(STRING_OR_NUMBER, (token) => (token.startsWith('"') ? token : `{"\\u0001":"${token}"}`));
  return JSON.parse(marked, (_key, value: unknown) => {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, MARK)) return value;
    const source = String((value as Readonly<Record<string, unknown>>)[MARK]);
    return keep(Number(source), source);
  });
};

/** Node passes the text of a number to a reviver since version 21. */
const shows_source =
  JSON.parse('1', (_key: string, _value: unknown, context?: { readonly source?: string }) => context?.source) === '1';

/** `JSON.parse` that replaces each number with the result of `keep`, which gets the number and its text. */
const parseNumbers: Parse = shows_source ? byContext : byMarks;

/** JSON with the exact text of every number. */
export const parseExactly = (text: string): unknown => parseNumbers(text, (_, source) => new NumberText(source));

/** 16 digits or an exponent may not survive as a double; such text is parsed again number by number. */
const RISKY_NUMBER = /[\d.]{16}|\d[eE]/;

/**
 * JSON of a database: every number that a double would change becomes a string with the database's digits. Text that is not JSON,
 * or nested too deeply, is returned unchanged.
 */
export function parseJson(text: string): Json {
  try {
    const exact = RISKY_NUMBER.test(text);
    return (exact ? parseNumbers(text, (value, source) => (survives(value, source) ? value : source)) : JSON.parse(text)) as Json;
  } catch {
    return text;
  }
}

/** Like `parseJson`, as JSON text. */
export function jsonText(text: string): string {
  try {
    return JSON.stringify(parseJson(text));
  } catch {
    return JSON.stringify(text);
  }
}

const survives = (value: number, source: string): boolean =>
  keepsDigits(value, source) && (Number.isSafeInteger(value) || !Number.isInteger(value));

/** Whether a double equals the number in the text. */
export const keepsDigits = (value: number, source: string): boolean =>
  Number.isFinite(value) && (String(value) === source || significant(String(value)) === significant(source));

/** The significant digits: no sign, dot, exponent, leading or trailing zeros. */
function significant(number: string): string {
  return number
    .replace(/[eE].*$/, '')
    .replace(/[-+.]/g, '')
    .replace(/^0+/, '')
    .replace(/0+$/, '');
}

/** Parses JSON; an integer that a number cannot represent becomes a string. */
export const parseIntegers = (text: string): unknown =>
  /\d{16}/.test(text)
    ? parseNumbers(text, (value, source) => (Number.isSafeInteger(value) || !/^-?\d+$/.test(source) ? value : source))
    : JSON.parse(text);
