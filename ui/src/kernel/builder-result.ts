/** A cell as text; null is told apart from the empty text by whoever shows it. */
export const cellText = (value: unknown): string => {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

export type Row = Readonly<Record<string, unknown>>;

/** RFC 4180 with a header line; null is an empty field, an empty text a quoted one. */
export function toCsv(columns: readonly string[], rows: readonly Row[]): string {
  const field = (value: unknown) => {
    if (value === null || value === undefined) return '';
    const text = cellText(value);
    return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns.map(field), ...rows.map((row) => columns.map((column) => field(row[column])))];
  return lines.map((line) => `${line.join(',')}\r\n`).join('');
}
