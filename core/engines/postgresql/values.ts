import type { ScalarType } from '#core/contract/definitions/parameters.ts';
import { utcDatetime } from '#core/lib/text/datetimes.ts';
import { listText, numberText, plainDigits } from '../shared/rows.ts';
import type { BoundType, Json } from '#core/lib/sql/result.ts';

/** Converts PostgreSQL's text of one value to JSON. */
export type ParseText = (text: string) => Json;

export const parseBoolean: ParseText = (text) => text === 't';

export const parseInteger: ParseText = (text) => Number(text);

export function parseBigint(text: string): Json {
  const number = Number(text);
  return text.length < 16 || Number.isSafeInteger(number) ? number : text;
}

export function parseFloat8(text: string): Json {
  const number = Number(text);
  return Number.isFinite(number) ? number : null;
}

/** Exact digits as a string; `NaN` and `Infinity` become null. */
export function parseNumeric(text: string): Json {
  const last = text.charCodeAt(text.length - 1);
  return last >= 48 && last <= 57 ? text : null;
}

/** `infinity` and years BC stay as PostgreSQL writes them. */
export function parseTimestamp(text: string): Json {
  const space = text.indexOf(' ');
  return space < 0 || text.endsWith(' BC') ? text : `${text.slice(0, space)}T${text.slice(space + 1)}`;
}

export function parseTimestamptz(text: string): Json {
  // Sessions use UTC, so nearly every value has this form.
  if (text.charCodeAt(10) === SPACE && text.endsWith('+00')) return `${text.slice(0, 10)}T${text.slice(11, -3)}Z`;
  const space = text.indexOf(' ');
  if (space < 0 || text.endsWith(' BC')) return text;
  return `${text.slice(0, space)}T${withIsoOffset(text, space + 1)}`;
}

const SPACE = 32;

export const parseTimetz: ParseText = (text) => withIsoOffset(text, 0);

/** The older format (`escape`) occurs behind a pooler that ignores settings. */
export function parseBytes(text: string): Json {
  if (text.startsWith('\\x')) return Buffer.from(text.slice(2), 'hex').toString('base64');
  const octets = text.replace(/\\(\\|[0-7]{3})/g, (_, of: string) => (of === '\\' ? of : String.fromCharCode(parseInt(of, 8))));
  return Buffer.from(octets, 'latin1').toString('base64');
}

/** Parses an array literal, with or without bounds (`[0:1]={1,2}`). An array that is nested too deeply stays text. */
export function parseArray(text: string, parseItem: ParseText | undefined, delimiter = ','): Json {
  let at = text.indexOf('{');
  if (text.indexOf('"') < 0 && text.indexOf('{', at + 1) < 0) return parseFlat(text.slice(at + 1, -1), parseItem, delimiter);
  try {
    return list();
  } catch {
    return text;
  }

  function list(): Json[] {
    const items: Json[] = [];
    at++;
    while (at < text.length && text[at] !== '}') {
      if (text[at] === delimiter) at++;
      items.push(text[at] === '{' ? list() : item());
    }
    at++;
    return items;
  }

  function item(): Json {
    if (text[at] === '"') return finish(quoted());
    const begin = at;
    while (at < text.length && text[at] !== delimiter && text[at] !== '}') at++;
    const bare = text.slice(begin, at);
    return bare === 'NULL' ? null : finish(bare);
  }

  function quoted(): string {
    let value = '';
    let begin = ++at;
    while (at < text.length && text[at] !== '"') {
      if (text[at] === '\\') {
        value += text.slice(begin, at);
        begin = ++at;
      }
      at++;
    }
    value += text.slice(begin, at++);
    return value;
  }

  function finish(item: string): Json {
    return parseItem ? parseItem(item) : item;
  }
}

function parseFlat(inner: string, parseItem: ParseText | undefined, delimiter: string): Json[] {
  if (inner === '') return [];
  const items: Json[] = inner.split(delimiter);
  for (const [i, item] of items.entries()) {
    if (item === 'NULL') items[i] = null;
    else if (parseItem) items[i] = parseItem(item as string);
  }
  return items;
}

/** Writes offsets as `Z` or `+hh:mm`. Offsets with seconds, before 1900, stay unchanged. */
function withIsoOffset(text: string, from: number): string {
  const sign = Math.max(text.lastIndexOf('+'), text.lastIndexOf('-'));
  if (sign <= from) return text.slice(from);
  const offset = text.slice(sign);
  const iso = offset === '+00' ? 'Z' : offset.length === 3 ? `${offset}:00` : offset;
  return text.slice(from, sign) + iso;
}

/** An array: its literal, unless the database inferred JSON. */
export interface BoundArray {
  readonly json: string;
  toString(): string;
}

/** A bound value as text. The declared type decides its form; PostgreSQL converts the text to the inferred type. */
export function toBound(value: Json, type: BoundType): string | BoundArray | null {
  if (value === null) return null;
  if (typeof type === 'string') return scalarText(value, type);
  if (!Array.isArray(value)) return scalarText(value, type.array);
  const toItem = type.array === 'integer' || type.array === 'number' ? numberText : JSON.stringify;
  return {
    get json() {
      return listText(value, toItem);
    },
    toString: () => arrayLiteral(value, type.array),
  };
}

/** PostgreSQL ignores the zone in the text of a type without zone. Sessions use UTC, like its cast of a `timestamptz`. */
export function withoutZone(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutZone);
  return typeof value === 'string' ? utcDatetime(value) : value;
}

function scalarText(value: Json, type: ScalarType): string {
  if (type === 'json') return JSON.stringify(value);
  if (typeof value === 'string') return type === 'bytes' ? `\\x${Buffer.from(value, 'base64').toString('hex')}` : value;
  return type === 'number' || type === 'integer' ? plainDigits(JSON.stringify(value)) : JSON.stringify(value);
}

function arrayLiteral(items: readonly Json[], type: ScalarType): string {
  const parts = items.map((item) => {
    if (item === null) return 'NULL';
    return Array.isArray(item) && type !== 'json' ? arrayLiteral(item, type) : quote(scalarText(item, type));
  });
  return `{${parts.join(',')}}`;
}

function quote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}
