import type { TextFormat } from '#core/contract/definitions/pages.ts';
import type { ReturnType } from '#core/contract/definitions/tools.ts';
import type { QueryResult } from '#core/lib/sql/result.ts';
import { cellText, toCsv } from '#core/lib/csv.ts';

/** A Markdown table; line breaks in cells become `<br>`. */
export const markdownOf = ({ columns, rows }: QueryResult): string =>
  [
    tableLine(columns.map(({ name }) => tableCell(name))),
    tableLine(columns.map(() => '---')),
    ...rows.map((row) => tableLine(columns.map(({ name }) => tableCell(cellText(row[name]))))),
  ].join('\n');

const tableLine = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
const tableCell = (text: string): string =>
  text
    .replaceAll('\\', '\\\\')
    .replaceAll('|', '\\|')
    .replace(/\r\n|\r|\n/g, '<br>');

export const csvOf = ({ columns, rows }: QueryResult): string =>
  toCsv(
    columns.map(({ name }) => name),
    rows.map((row) => columns.map(({ name }) => row[name])),
  );

/** A header line and rows with tab-separated cells; tabs and line breaks in cells become spaces. */
const tsvOf = ({ columns, rows }: QueryResult): string =>
  [columns.map(({ name }) => name), ...rows.map((row) => columns.map(({ name }) => cellText(row[name])))]
    .map((line) => line.map((cell) => cell.replaceAll(/[\t\r\n]+/g, ' ')).join('\t'))
    .join('\n');

const WRITERS: Readonly<Record<Exclude<TextFormat, 'json'>, (result: QueryResult) => string>> = {
  markdown: markdownOf,
  csv: csvOf,
  tsv: tsvOf,
};

/** The part of a result that each structured return type contains. */
const PARTS: Readonly<Partial<Record<ReturnType, (result: QueryResult) => QueryResult>>> = {
  rows: (result) => result,
  row: (result) => ({ ...result, rows: result.rows.slice(0, 1) }),
  column: (result) => ({ ...result, columns: result.columns.slice(0, 1) }),
};

export const hasTextFormat = (return_type: ReturnType): boolean => PARTS[return_type] !== undefined;

/** The text beside structured content; null if it is the content itself as JSON. */
export function resultText(result: QueryResult, return_type: ReturnType, format: TextFormat): string | null {
  const part = PARTS[return_type];
  return format === 'json' || part === undefined || result.columns.length === 0 ? null : WRITERS[format](part(result));
}
