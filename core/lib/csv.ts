const SPECIAL = /[",\r\n]/;
/** A text that a spreadsheet would run as a formula. */
const FORMULA = /^[=+\-@\t\r]/;
const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

/** A field of RFC 4180. An empty text is quoted, because an empty field is a missing value. */
export const csvField = (text: string, special = SPECIAL): string =>
  text === '' || special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

/** A cell as text. Null and the empty text look the same here, so the caller distinguishes them. */
export const cellText = (value: unknown): string => {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

/** An apostrophe prevents spreadsheets from running a cell as a formula; numbers do not need it. */
const guarded = (text: string): string => (FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text);

/** A text that stays as it is in a field, and that a spreadsheet does not run. */
const PLAIN = /^[^=+\-@\t\r\n",][^"\r\n,]*$/;

/** A cell as a field: null is an empty field, an empty text a quoted one. */
export function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const text = cellText(value);
  return PLAIN.test(text) ? text : csvField(guarded(text));
}

/** RFC 4180 with a header line; null is an empty field, an empty text a quoted one. */
export function toCsv(head: readonly string[], rows: readonly (readonly unknown[])[]): string {
  return [head, ...rows].map((line) => `${line.map(csvCell).join(',')}\r\n`).join('');
}
