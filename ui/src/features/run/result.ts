import type { View } from '#core/contract/definitions/view.ts';
import type { Preview } from '#core/contract/definitions/preview.ts';
import { cellText } from '#core/lib/csv.ts';
import { estimateTokens } from '#core/lib/tokens.ts';
import { isMembers, type Members, type Table, toTable } from '#core/lib/view/table.ts';
import { parseJson } from '#ui/src/kernel/json.ts';

/** A content part of a result, as a model receives it. */
export interface Part {
  /** `assistant` or `user` of a prompt; the address of a resource. */
  readonly from: string | undefined;
  readonly kind: 'text' | 'image' | 'audio' | 'binary';
  readonly mime_type: string;
  /** Base64 of binary content. */
  readonly data: string;
}

/** The result of a run on a host or in a preview. */
export interface Result {
  readonly is_error: boolean;
  readonly parts: readonly Part[];
  readonly structured: Members | undefined;
  /** The view definition of the tool; absent: none, or not a tool call. */
  readonly view?: View;
  readonly table: Table | undefined;
  /** The JSON view: the structured content, or the text if it is JSON. */
  readonly json: unknown;
  /** A row or size limit cut it off. */
  readonly truncated: boolean;
  /** Where all rows can be downloaded; absent: the tool offers no file. */
  readonly file?: OfferedFile;
  /** Of all parts, in UTF-8. */
  readonly bytes: number;
  readonly tokens: number;
}

interface OfferedFile {
  readonly url: string;
  readonly name: string;
}

/** The file that a link of the result leads to. */
function fileIn(content: readonly Members[]): OfferedFile | undefined {
  const { uri, name } = content.find(({ type }) => type === 'resource_link') ?? {};
  const is_address = typeof uri === 'string' && /^https?:\/\//.test(uri);
  return is_address && typeof name === 'string' ? { url: uri, name } : undefined;
}

/** Converts the result of tools/call, resources/read or prompts/get. */
export function toResult(result: Members): Result {
  const parts = [
    ...listOf(result['content']).map((block) => toPart(block, undefined)),
    ...listOf(result['contents']).map((content) => toContent(content)),
    ...listOf(result['messages']).map((message) =>
      toPart(isMembers(message['content']) ? message['content'] : {}, String(message['role'])),
    ),
  ];
  const text = parts.find(({ kind }) => kind === 'text')?.data;
  const structured = isMembers(result['structuredContent']) ? result['structuredContent'] : undefined;
  const json = structured ?? parsed(text);
  const file = fileIn(listOf(result['content']));
  const meta = isMembers(result['_meta']) ? result['_meta']['sluice/view'] : undefined;
  return {
    ...(isMembers(meta) ? { view: meta as View } : {}),
    ...(file === undefined ? {} : { file }),
    is_error: result['isError'] === true,
    parts,
    structured,
    table: toTable(json),
    json,
    truncated: [json, listOf(result['contents'])[0]?.['_meta']].some((each) => isMembers(each) && each['truncated'] === true),
    bytes: parts.reduce((sum, { data }) => sum + new TextEncoder().encode(data).byteLength, 0),
    tokens: parts.reduce((sum, { kind, data }) => sum + (kind === 'text' ? estimateTokens(data) : 0), 0),
  };
}

/** Converts a preview: its rows are those of the statement, before any template. */
export function ofPreview({ columns, column_types, rows, truncated, model }: Preview): Result {
  return { ...toResult(model ?? {}), table: { columns, types: column_types, rows }, json: rows, truncated };
}

/** The result of a call, as a client gets it. */
export const asCalled = ({ is_error, parts, structured }: Result): Members => ({
  content: parts.filter(({ kind }) => kind === 'text').map(({ data }) => ({ type: 'text', text: data })),
  isError: is_error,
  ...(structured === undefined ? {} : { structuredContent: structured }),
});

const listOf = (value: unknown): Members[] => (Array.isArray(value) ? value.filter(isMembers) : []);

function toPart(block: Members, from: string | undefined): Part {
  const { type, text, data, mimeType } = block;
  if (type === 'image' || type === 'audio') return { from, kind: type, mime_type: String(mimeType), data: String(data) };
  if (type === 'resource' && isMembers(block['resource'])) return toContent(block['resource']);
  return { from, kind: 'text', mime_type: 'text/plain', data: typeof text === 'string' ? text : JSON.stringify(block) };
}

function toContent({ uri, mimeType, text, blob }: Members): Part {
  const [from, mime_type] = [String(uri), typeof mimeType === 'string' ? mimeType : 'text/plain'];
  if (typeof blob !== 'string') return { from, kind: 'text', mime_type, data: cellText(text) };
  const kind = /^(image|audio)\//.exec(mime_type)?.[1] as 'image' | 'audio' | undefined;
  return { from, kind: kind ?? 'binary', mime_type, data: blob };
}

const parsed = (text = ''): unknown => (/^\s*[[{]/.test(text) ? parseJson(text) : undefined);

const NUMBER = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;
const NUMBER_TYPE = /int|numeric|decimal|float|double|real|number|money/i;

/** Whether a column is numeric. Numbers that JavaScript cannot represent exactly are strings. */
export function isNumeric({ columns, types, rows }: Table, column: string): boolean {
  const as_text = NUMBER_TYPE.test(types?.[columns.indexOf(column)] ?? '');
  const values = rows.map((row) => row[column]).filter((value) => value !== null && value !== undefined);
  const isNumber = (value: unknown) => typeof value === 'number' || (as_text && typeof value === 'string' && NUMBER.test(value));
  return values.length > 0 && values.every(isNumber);
}

/** Sort value of a column. */
export const sortValue =
  (column: string, numeric: boolean) =>
  (row: Members): string | number | null => {
    const value = row[column];
    if (value === null || value === undefined) return null;
    return numeric ? Number(value) : cellText(value);
  };
