import { isMembers, type Members, type Table, toTable } from '#core/lib/view/table.ts';

/** What there is to draw of a result of `tools/call`. */
type Drawable =
  | { readonly kind: 'table'; readonly table: Table; readonly truncated: boolean }
  | { readonly kind: 'text' | 'error'; readonly text: string };

/** Structured content first, then JSON in the text, then the text itself. */
export function toDrawable(result: Members): Drawable {
  const text = textIn(result);
  if (result['isError'] === true) return { kind: 'error', text };
  const json = isMembers(result['structuredContent']) ? result['structuredContent'] : parsed(text);
  const table = toTable(json) ?? singleCell(json);
  const truncated = isMembers(json) && json['truncated'] === true;
  return table === undefined ? { kind: 'text', text } : { kind: 'table', table: widened(table, json), truncated };
}

/** A statement that returns no rows says how many it changed. */
function widened(table: Table, json: unknown): Table {
  const affected = isMembers(json) ? json['affected_rows'] : undefined;
  return table.rows.length === 0 && affected !== undefined ? oneCell('affected_rows', affected) : table;
}

function singleCell(json: unknown): Table | undefined {
  if (!isMembers(json)) return undefined;
  if (json['row'] === null) return { columns: [], rows: [] };
  if ('value' in json) return oneCell('value', json['value']);
  return 'affected_rows' in json ? oneCell('affected_rows', json['affected_rows']) : undefined;
}

const oneCell = (name: string, value: unknown): Table => ({ columns: [name], rows: [{ [name]: value }] });

function textIn({ content }: Members): string {
  const blocks = Array.isArray(content) ? content.filter(isMembers) : [];
  return blocks.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join('\n');
}

function parsed(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
