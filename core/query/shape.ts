import type { Json, ValueKind, QueryResult, Row } from '#core/lib/sql/result.ts';
import { type MediaKind, SVG_TYPE, SHOWN_IMAGES, mimeTypeOf } from './media.ts';
import type { ReturnType } from '#core/contract/definitions/tools.ts';
import type { SchemaColumn } from './masks.ts';
import type { LimitedResult, Limit } from './limits.ts';
import { resultText, csvOf, markdownOf } from './text-formats.ts';
import type { Transformed } from '#core/lib/template/transform.ts';
import type { TextFormat } from '#core/contract/definitions/pages.ts';
import { AFTER } from './page-schemas.ts';
import { wellFormedJson } from '#core/lib/text/wire-text.ts';
import { AppError } from '#core/errors.ts';
import { cellText } from '#core/lib/csv.ts';

/**
 * A shaped result: one of `structured`, `text` and `media`, or `structured` with `text`. `note` is a sentence about what the
 * shape cannot express, such as omitted rows.
 */
export interface Shaped {
  readonly structured: { readonly [key: string]: Json } | null;
  /** Text beside structured content, for clients that read text only. */
  readonly text: string | null;
  readonly media: Media | null;
  readonly note: string | null;
}

/** Base64. Types that models do not accept, such as SVG images, are resources. */
export interface Media {
  readonly kind: MediaKind | 'resource';
  readonly mime_type: string;
  readonly data: string;
}

export type JsonSchema = { readonly [key: string]: unknown };

/** One branch per type: some clients' schema dialects do not support a list in `type`. */
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
 * The output schema of a tool, or null if the result is not structured or comes from a template.
 * @param columns the columns that the database described, or null if it could not.
 */
export function outputSchema(
  return_type: ReturnType,
  columns: readonly SchemaColumn[] | null,
  has_template: boolean,
): JsonSchema | null {
  if (has_template) return null;
  const first = columns?.[0];
  const cell = first === undefined || first.missing === true ? ANY_JSON : cellSchema(first);
  // A statement that returns rows does not report a number of changed rows.
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

/** A masked column has a note, and also the unmasked type if some callers see it. */
function cellSchema({ kind, note, both }: SchemaColumn): JsonSchema {
  const seen = both === undefined || both.kind === kind ? OF_KIND[kind] : anyOf(OF_KIND[both.kind], OF_KIND[kind]);
  return note === undefined ? seen : { ...seen, description: note };
}

function rowSchema(columns: readonly SchemaColumn[] | null): JsonSchema {
  if (columns === null || columns.length === 0) return { type: 'object' };
  // A Map, because a column can have any name, including one on Object.prototype.
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
 * Shapes the rows of a tool by its `return_type`. For a write that returns no rows, the shape is empty and has `affected_rows`.
 * Throws `bad_request` if the first cell is not the `image` or `audio` that the tool returns.
 */
export function shape(
  result: LimitedResult,
  return_type: ReturnType,
  transformed: Transformed | null,
  { next = null, text_format = 'json' }: Form = {},
): Shaped {
  if (transformed === null) {
    const shaped = formed(SHAPES[return_type](result), result, resultText(result, return_type, text_format), next);
    const more = furtherNote(result);
    return more === null ? shaped : { ...shaped, note: joined(shaped.note, more) };
  }
  const note = joined(cutNote(result), furtherNote(result));
  if (transformed.kind === 'text') return { ...NOTHING, text: transformed.text, note };
  return { ...NOTHING, structured: { result: transformed.value }, note };
}

/** Options besides `return_type`. */
export interface Form {
  /** Cursor of the next page; null if there is none. */
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

/** The result of `tools/call`. Structured content is repeated as text for clients that read only one of them. */
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

/** Model APIs refuse a conversation that contains a blank text block. */
export const shownText = (text: string): string => (text.trim() === '' ? 'The result is empty.' : text);

/** Media as an MCP content block. */
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

/** The first row was omitted, which differs from an empty result. */
const isFirstTooLarge = ({ rows, truncated }: QueryResult): boolean => truncated && rows.length === 0;

const firstTooLarge = ({ limit }: LimitedResult): string =>
  `The first row is larger than a call can return. Select fewer or shorter columns, or raise ${RAISED[limit ?? 'max_bytes']}.`;

/** Where each limit can be raised. */
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

/** A note on omitted rows and how to get them, or null. */
function cutNote(result: LimitedResult): string | null {
  if (!result.truncated) return null;
  if (isFirstTooLarge(result)) return firstTooLarge(result);
  const { limit } = result;
  const reached = limit === undefined ? 'a row or size limit' : limit;
  const less = limit === 'max_rows' ? '' : ' or select fewer columns';
  return `Only the first ${result.rows.length} rows are here: ${reached} was reached. Narrow the query${less} to see the rest.`;
}

/** A note on omitted results of a procedure, or null. */
const furtherNote = (result: LimitedResult): string | null => joined(resultsNote(result), result.plan_note ?? null);

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

/** The first cell as base64. Its type comes from its first bytes, or else from a column `mime_type`. */
function firstBytes(result: LimitedResult, requested_column: string): { mime_type: string | null; data: string } {
  if (isFirstTooLarge(result)) throw new AppError('too_large', firstTooLarge(result));
  const row = result.rows[0];
  const cell = firstCell(row, result);
  const text = typeof cell === 'string' ? cell.replace(/\s+/g, '') : '';
  if (row === undefined || text === '') {
    throw new AppError(
      'bad_request',
      `The statement returned no ${requested_column}: it returned no rows, or an empty first cell.`,
    );
  }
  const is_bytes = result.columns[0]?.kind === 'bytes' || BASE64.test(text);
  const data = is_bytes ? text : Buffer.from(cellText(cell)).toString('base64');
  const declared = row['mime_type'];
  // Audio without a signature is common; images always have one.
  const is_audio = typeof declared === 'string' && /^audio\//i.test(declared.trim());
  return { data, mime_type: mimeTypeOf(data) ?? (is_audio ? plainType(declared) : null) };
}

const plainType = (mime_type: string): string => mime_type.split(';', 1)[0]?.trim().toLowerCase() ?? '';

/** One column: one value per line. Several: a header line and tab-separated rows. */
function toText({ columns, rows }: QueryResult): string {
  const lines = rows.map((row) => columns.map(({ name }) => cellText(row[name])).join('\t'));
  if (columns.length > 1) lines.unshift(columns.map(({ name }) => name).join('\t'));
  return lines.join('\n');
}

/** A single cell is returned unchanged because it may be Markdown; everything else becomes a table. */
const toMarkdown = (result: QueryResult): string =>
  result.columns.length === 1 && result.rows.length === 1 ? cellText(firstCell(result.rows[0], result)) : markdownOf(result);

/** Types with a text body, `text/*` and others. */
const TEXTUAL = /^(?:text\/|application\/(?:xml|yaml|x-yaml|toml|sql|javascript|graphql)\b|[^;]*\+(?:xml|yaml)\b)/;

const JSON_TYPE = /^(?:application\/json\b|[^;]*\+json\b)/;

/**
 * The body of a resource by its `mime_type`: text, or bytes in base64. An image reports the type of its bytes, because clients
 * pass it on with that type.
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

/** Drops blank messages, because model APIs refuse a conversation that contains one. At least one message remains. */
export function withoutBlankMessages<M extends { readonly text: string }>(messages: readonly M[]): readonly M[] {
  const nonempty = messages.filter(({ text }) => text.trim() !== '');
  return nonempty.length > 0 ? nonempty : messages.slice(0, 1).map((message) => ({ ...message, text: shownText(message.text) }));
}
