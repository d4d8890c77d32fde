import type { Json, ValueKind, QueryResult, Row } from '#core/lib/sql/result.ts';
import { type MediaKind, SVG_TYPE, SHOWN_IMAGES, mimeTypeOf } from './media.ts';
import type { ReturnType } from '#core/contract/definitions/tools.ts';
import type { SchemaColumn } from './masks.ts';
import type { LimitedResult, Limit } from './limits.ts';
import { resultText, csvOf, markdownOf } from './result-text.ts';
import type { Transformed } from '#core/lib/template/transform.ts';
import type { TextFormat } from '#core/contract/definitions/pages.ts';
import { AFTER } from './page-schemas.ts';
import { wellFormedJson } from '#core/lib/text/wire-text.ts';
import { AppError } from '#core/errors.ts';
import { cellText } from '#core/lib/csv.ts';

/**
 * A result as it leaves: one of `structured`, `text` and `media`, or the first two. `note` says in a sentence what the shape itself
 * cannot say, such as rows left out.
 */
export interface Shaped {
  readonly structured: { readonly [key: string]: Json } | null;
  /** Beside structured content: what is said in its place to clients that read text. */
  readonly text: string | null;
  readonly media: Media | null;
  readonly note: string | null;
}

/** Base64. What no model is shown, such as an SVG image, is a resource. */
export interface Media {
  readonly kind: MediaKind | 'resource';
  readonly mime_type: string;
  readonly data: string;
}

export type JsonSchema = { readonly [key: string]: unknown };

/** A branch for each type: clients whose dialect has one `type` in a schema know no list of them. */
const anyOf = (...branches: readonly JsonSchema[]): JsonSchema => ({ anyOf: branches });

const orNull = (schema: JsonSchema): JsonSchema => anyOf(schema, { type: 'null' });

const ANY_JSON = anyOf(...['object', 'array', 'string', 'number', 'boolean', 'null'].map((type) => ({ type })));

const OF_KIND: Readonly<Record<ValueKind, JsonSchema>> = {
  boolean: orNull({ type: 'boolean' }),
  integer: orNull({ type: 'integer' }),
  bigint: anyOf({ type: 'integer' }, { type: 'string' }, { type: 'null' }),
  number: orNull({ type: 'number' }),
  string: orNull({ type: 'string' }),
  bytes: orNull({ type: 'string', contentEncoding: 'base64' }),
  json: ANY_JSON,
  array: orNull({ type: 'array' }),
};

const AFFECTED: JsonSchema = { type: 'integer', description: 'Rows changed by a statement that returns none' };

const TRUNCATED: JsonSchema = { type: 'boolean', description: 'Rows were left out because a limit was reached' };

/**
 * The output schema of a tool (contract section 4), or null where the result is not structured or a template decides it.
 * @param columns as the database described them; null when it could not.
 */
export function outputSchema(
  return_type: ReturnType,
  columns: readonly SchemaColumn[] | null,
  has_template: boolean,
): JsonSchema | null {
  if (has_template) return null;
  const first = columns?.[0];
  const cell = first === undefined || first.missing === true ? ANY_JSON : cellSchema(first);
  // A statement that returns rows never says how many it changed.
  const changed = first === undefined ? { affected_rows: AFFECTED } : {};
  if (return_type === 'rows') {
    const rows = { type: 'array', items: rowSchema(columns) };
    const row_count = { type: 'integer', minimum: 0 };
    return object({ rows, row_count, truncated: TRUNCATED, ...changed }, ['rows', 'row_count', 'truncated']);
  }
  if (return_type === 'row') return object({ row: orNull(rowSchema(columns)), ...changed }, ['row']);
  if (return_type === 'column') {
    return object({ values: { type: 'array', items: cell }, truncated: TRUNCATED, ...changed }, ['values']);
  }
  if (return_type === 'value') return object({ value: cell, ...changed }, ['value']);
  return null;
}

const object = (properties: Record<string, JsonSchema>, required: readonly string[]): JsonSchema => ({
  type: 'object',
  properties,
  required,
});

/** A masked column says so, and what it is to those who see it whole. */
function cellSchema({ kind, note, both }: SchemaColumn): JsonSchema {
  const seen = both === undefined || both.kind === kind ? OF_KIND[kind] : anyOf(OF_KIND[both.kind], OF_KIND[kind]);
  return note === undefined ? seen : { ...seen, description: note };
}

function rowSchema(columns: readonly SchemaColumn[] | null): JsonSchema {
  if (columns === null || columns.length === 0) return { type: 'object' };
  // A database may give a column any name, that of a prototype included.
  const properties = new Map<string, JsonSchema>();
  const required: string[] = [];
  for (const column of columns) {
    const { name } = column;
    let free = name;
    for (let n = 2; properties.has(free); n++) free = `${name}_${n}`;
    properties.set(free, cellSchema(column));
    if (column.missing !== true) required.push(free);
  }
  return object(Object.fromEntries(properties), required);
}

const NOTHING = { structured: null, text: null, media: null, note: null };

type Shape = (result: LimitedResult) => Shaped;

/**
 * Shapes the rows of a tool by its `return_type`. A statement that changes rows and returns none has the same shape without
 * rows, beside `affected_rows`. Rejects with `bad_request` when `image` or `audio` finds no such bytes.
 */
export function shape(
  result: LimitedResult,
  return_type: ReturnType,
  transformed: Transformed | null,
  { next = null, text_format = 'json' }: Form = {},
): Shaped {
  if (transformed === null) {
    const shaped = formed(SHAPES[return_type](result), result, resultText(result, return_type, text_format), next);
    const more = resultsNote(result);
    return more === null ? shaped : { ...shaped, note: joined(shaped.note, more) };
  }
  const note = joined(cutNote(result), resultsNote(result));
  if (transformed.kind === 'text') return { ...NOTHING, text: transformed.text, note };
  return { ...NOTHING, structured: { result: transformed.value }, note };
}

/** What a tool says beyond its `return_type`. */
export interface Form {
  /** Brings the rows that follow; null: none do, or there are no pages. */
  readonly next?: string | null;
  readonly text_format?: TextFormat | undefined;
}

function formed(shaped: Shaped, result: LimitedResult, text: string | null, next: string | null): Shaped {
  const { structured } = shaped;
  if (structured === null) return next === null ? shaped : { ...shaped, note: `${firstOf(result)} ${furtherRows(`"${next}"`)}` };
  if (text === null)
    return next === null ? shaped : { ...shaped, structured: { ...structured, next }, note: furtherRows('the value of next') };
  if (next !== null)
    return { ...shaped, structured: { ...structured, next }, text, note: `${firstOf(result)} ${furtherRows(`"${next}"`)}` };
  return { ...shaped, text };
}

const firstOf = ({ rows }: QueryResult): string => `These are ${rows.length} rows, and more follow.`;

const furtherRows = (value: string): string =>
  `To get the next rows, call again with the same arguments and ${AFTER} set to ${value}.`;

/** The result of `tools/call`. Structured content stands also as text, for clients that read only one of them. */
export function toToolResult({ structured, text, media, note }: Shaped) {
  const json = structured === null ? null : JSON.stringify(structured);
  const whole = json === null ? null : wellFormedJson(json);
  const written = text?.toWellFormed() ?? whole;
  const content = [
    ...(written === null ? [] : [{ type: 'text' as const, text: shownText(written) }]),
    ...(media === null ? [] : [mediaBlock(media)]),
    ...(note === null ? [] : [{ type: 'text' as const, text: note }]),
  ];
  if (structured === null || whole === null) return { content };
  return { content, structuredContent: whole === json ? structured : (JSON.parse(whole) as typeof structured) };
}

/** APIs of models refuse a whole conversation with a text block of nothing but spaces. */
export const shownText = (text: string): string => (text.trim() === '' ? 'The result is empty.' : text);

/** Media as content of a result. */
export function mediaBlock({ kind, mime_type, data }: Media) {
  if (kind !== 'resource') return { type: kind, data, mimeType: mime_type };
  const is_svg = mime_type === SVG_TYPE;
  const body = is_svg ? { text: Buffer.from(data, 'base64').toString('utf8') } : { blob: data };
  return {
    type: 'resource' as const,
    resource: { uri: `sluice://result.${is_svg ? 'svg' : 'bin'}`, mimeType: mime_type, ...body },
  };
}

const SHAPES: Readonly<Record<ReturnType, Shape>> = {
  rows: (result) => list(result, { rows: result.rows, row_count: result.rows.length, truncated: result.truncated }),
  row: (result) => first(result, { row: result.rows[0] ?? null }),
  column: (result) =>
    list(result, {
      values: result.rows.map((row) => firstCell(row, result)),
      ...(result.truncated ? { truncated: true } : {}),
    }),
  value: (result) => first(result, { value: firstCell(result.rows[0], result) }),
  text: (result) => written(result, toText),
  markdown: (result) => written(result, toMarkdown),
  csv: (result) => written(result, csvOf),
  image: (result) => media(result, 'image'),
  audio: (result) => media(result, 'audio'),
};

/** A first row that is left out is not the same as none. */
const isFirstTooLarge = ({ rows, truncated }: QueryResult): boolean => truncated && rows.length === 0;

const firstTooLarge = ({ limit }: LimitedResult): string =>
  `The first row is larger than a call can return. Select fewer or shorter columns, or raise ${RAISED[limit ?? 'max_bytes']}.`;

/** Whose limits they are. */
const RAISED: Readonly<Record<Limit, string>> = {
  max_rows: 'max_rows of the tool or its connection',
  max_bytes: 'max_bytes of the tool or its connection',
  max_tokens: 'max_tokens of the tool',
};

const list = (result: LimitedResult, value: Record<string, Json>): Shaped => ({
  ...structured(result, value),
  note: cutNote(result),
});

function first(result: LimitedResult, value: Record<string, Json>): Shaped {
  if (!isFirstTooLarge(result)) return structured(result, value);
  return { ...structured(result, { ...value, truncated: true }), note: firstTooLarge(result) };
}

function structured(result: QueryResult, value: Record<string, Json>): Shaped {
  if (result.affected_rows !== null) value['affected_rows'] = result.affected_rows;
  return { ...NOTHING, structured: value };
}

function written(result: LimitedResult, write: (result: QueryResult) => string): Shaped {
  if (result.affected_rows !== null && result.columns.length === 0) {
    const count = result.affected_rows;
    return { ...NOTHING, text: `${count} ${count === 1 ? 'row' : 'rows'} changed.` };
  }
  return { ...NOTHING, text: write(result), note: cutNote(result) };
}

function media(result: LimitedResult, kind: MediaKind): Shaped {
  const { mime_type, data } = firstBytes(result, kind);
  if (mime_type === null || !mime_type.startsWith(`${kind}/`)) {
    throw new AppError(
      'bad_request',
      `The first cell of the result is not recognised as ${kind}. Return the bytes of ${kind === 'audio' ? 'a sound, or add a column mime_type' : 'an image'} first.`,
    );
  }
  return { ...NOTHING, media: { kind: kind === 'audio' || SHOWN_IMAGES.has(mime_type) ? kind : 'resource', mime_type, data } };
}

/** What is missing, and how to get it; null: nothing is. */
function cutNote(result: LimitedResult): string | null {
  if (!result.truncated) return null;
  if (isFirstTooLarge(result)) return firstTooLarge(result);
  const { limit } = result;
  const reached = limit === undefined ? 'a row or size limit' : limit;
  const less = limit === 'max_rows' ? '' : ' or select fewer columns';
  return `Only the first ${result.rows.length} rows are here: ${reached} was reached. Narrow the query${less} to see the rest.`;
}

/** What of the results of a procedure is not here; null: nothing. */
const resultsNote = ({ results = 1 }: QueryResult): string | null =>
  results === 1
    ? null
    : `The procedure gave ${results} results. Only the first that has rows is here; the others and the values of its OUT parameters are left out.`;

const joined = (...notes: readonly (string | null)[]): string | null => notes.filter((note) => note !== null).join(' ') || null;

const firstCell = (row: Row | undefined, result: QueryResult): Json => {
  const name = result.columns[0]?.name;
  return row === undefined || name === undefined ? null : (row[name] ?? null);
};

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The first cell as base64 with its type: that of its first bytes, else of a column `mime_type`. */
function firstBytes(result: LimitedResult, wanted: string): { mime_type: string | null; data: string } {
  if (isFirstTooLarge(result)) throw new AppError('too_large', firstTooLarge(result));
  const row = result.rows[0];
  const cell = firstCell(row, result);
  const text = typeof cell === 'string' ? cell.replace(/\s+/g, '') : '';
  if (row === undefined || text === '') {
    throw new AppError('bad_request', `The statement returned no ${wanted}: it returned no rows, or an empty first cell.`);
  }
  const is_bytes = result.columns[0]?.kind === 'bytes' || BASE64.test(text);
  const data = is_bytes ? text : Buffer.from(cellText(cell)).toString('base64');
  const declared = row['mime_type'];
  // Sounds without a signature are common; images are not.
  const is_audio = typeof declared === 'string' && /^audio\//i.test(declared.trim());
  return { data, mime_type: mimeTypeOf(data) ?? (is_audio ? plainType(declared) : null) };
}

/** A media type without parameters. */
const plainType = (mime_type: string): string => mime_type.split(';', 1)[0]?.trim().toLowerCase() ?? '';

/** One column: its values, one a line. Several: a head line and rows, separated by tabs. */
function toText({ columns, rows }: QueryResult): string {
  const lines = rows.map((row) => columns.map(({ name }) => cellText(row[name])).join('\t'));
  if (columns.length > 1) lines.unshift(columns.map(({ name }) => name).join('\t'));
  return lines.join('\n');
}

/** One cell stands as it is (it may hold Markdown); everything else becomes a table. */
const toMarkdown = (result: QueryResult): string =>
  result.columns.length === 1 && result.rows.length === 1 ? cellText(firstCell(result.rows[0], result)) : markdownOf(result);

/** Types whose body is text though they are not `text/*`. */
const TEXTUAL = /^(?:text\/|application\/(?:xml|yaml|x-yaml|toml|sql|javascript|graphql)\b|[^;]*\+(?:xml|yaml)\b)/;

const JSON_TYPE = /^(?:application\/json\b|[^;]*\+json\b)/;

/**
 * The body of a resource, decided by its `mime_type` (contract section 5): text, or bytes in base64. An image has the type of its
 * bytes, as clients hand it on as what it is called.
 */
export function shapeResource(
  result: LimitedResult,
  mime_type: string,
  transformed: Transformed | null,
): { readonly text: string } | { readonly blob: string; readonly mimeType?: string } {
  const type = mime_type.toLowerCase();
  if (transformed?.kind === 'text') return { text: transformed.text };
  if (transformed?.kind === 'json') return { text: wellFormedJson(JSON.stringify(transformed.value)) };
  if (JSON_TYPE.test(type)) return { text: wellFormedJson(JSON.stringify(result.rows)) };
  if (/^text\/csv\b/.test(type)) return { text: csvOf(result).toWellFormed() };
  if (TEXTUAL.test(type))
    return {
      text: result.rows
        .map((row) => cellText(firstCell(row, result)))
        .join('\n')
        .toWellFormed(),
    };
  const { data, mime_type: found } = firstBytes(result, 'content');
  if (!type.startsWith('image/') || found === plainType(type)) return { blob: data };
  return { blob: data, mimeType: found ?? 'application/octet-stream' };
}
