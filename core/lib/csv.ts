const SPECIAL = /[",\r\n]/;
/** What a spreadsheet takes for a formula. */
const FORMULA = /^[=+\-@\t\r]/;
const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

/** One field of RFC 4180: an empty text is quoted, because an empty field is a missing value. */
export const csvField = (text: string, special = SPECIAL): string =>
  text === '' || special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

/** A cell as text; null is told apart from the empty text by whoever shows it. */
export const cellText = (value: unknown): string => {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

/** An apostrophe keeps spreadsheets from running a cell as a formula; numbers are none. */
const guarded = (text: string): string => (FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text);

/** RFC 4180 with a header line; null is an empty field, an empty text a quoted one. */
export function toCsv(head: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const field = (value: unknown) => (value === null || value === undefined ? '' : csvField(guarded(cellText(value))));
  return [head, ...rows].map((line) => `${line.map(field).join(',')}\r\n`).join('');
}
