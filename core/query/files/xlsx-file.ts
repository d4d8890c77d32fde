import { AppError } from '#core/errors.ts';
import { cellText } from '#core/lib/csv.ts';
import type { Column, Json } from '#core/lib/sql/result.ts';
import type { RowFile } from './row-file.ts';
import { openZip } from './zip.ts';

/** Limits of the format. */
const MOST_ROWS = 1_048_576;
const MOST_COLUMNS = 16_384;
const LONGEST_TEXT = 32_767;

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const SHEET = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const SHEET_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** The parts of a workbook (ECMA-376) beside its only sheet. */
const PARTS: readonly (readonly [path: string, xml: string])[] = [
  [
    '[Content_Types].xml',
    `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="${SHEET_TYPE}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${SHEET_TYPE}.worksheet+xml"/></Types>`,
  ],
  [
    '_rels/.rels',
    `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  ],
  [
    'xl/workbook.xml',
    `<workbook xmlns="${SHEET}" xmlns:r="${OFFICE}"><sheets><sheet name="Rows" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  ],
  [
    'xl/_rels/workbook.xml.rels',
    `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
  ],
];

/** Texts are text cells, which no program runs as a formula. */
export function openXlsx(columns: readonly Column[]): RowFile {
  if (columns.length > MOST_COLUMNS) throw beyond(`more than ${MOST_COLUMNS} columns`);
  const letters = columns.map((_, n) => lettersOf(n));
  const decimal = columns.map(({ kind, type }) => kind === 'string' && /^(?:numeric|decimal)/i.test(type));
  const zip = openZip();
  let line = 0;
  const rowXml = (cells: string): string => {
    if (++line > MOST_ROWS) throw beyond(`more than ${MOST_ROWS} rows`);
    return `<row r="${line}">${cells}</row>`;
  };
  const begin = (): Uint8Array[] => {
    const head = columns.map(({ name }, n) => textCell(name, `${letters[n]}1`, name)).join('');
    const start = `${XML}<worksheet xmlns="${SHEET}"><sheetData>${rowXml(head)}`;
    return [...PARTS.map(([path, xml]) => zip.whole(path, XML + xml)), zip.open('xl/worksheets/sheet1.xml'), zip.add(start)];
  };
  const withBegin = (xml: string): Uint8Array => Buffer.concat(line === 0 ? [...begin(), zip.add(xml)] : [zip.add(xml)]);
  return {
    mime_type: `${SHEET_TYPE}.sheet`,
    write(rows) {
      const started = line === 0 ? begin() : [];
      let xml = '';
      for (const row of rows) {
        let cells = '';
        for (let n = 0; n < columns.length; n++) {
          const { name } = columns[n]!;
          cells += cellXml(row[name] ?? null, `${letters[n]}${line + 1}`, name, decimal[n]!);
        }
        xml += rowXml(cells);
      }
      return Buffer.concat([...started, zip.add(xml)]);
    },
    end: () => Buffer.concat([withBegin('</sheetData></worksheet>'), zip.end()]),
  };
}

/** Numbers with more digits lose some in spreadsheets. */
const EXACT_DIGITS = 15;
const DECIMAL = /^-?\d+(?:\.\d+)?$/;
const isExact = (digits: string): boolean => digits.replaceAll(/\D/g, '').length <= EXACT_DIGITS;

function cellXml(value: Json, at: string, column: string, is_decimal: boolean): string {
  if (value === null) return '';
  if (typeof value === 'boolean') return `<c r="${at}" t="b"><v>${value ? 1 : 0}</v></c>`;
  if (typeof value === 'number') {
    const exact = !Number.isInteger(value) || isExact(String(value));
    return exact ? `<c r="${at}"><v>${value}</v></c>` : textCell(String(value), at, column);
  }
  if (is_decimal && typeof value === 'string' && DECIMAL.test(value) && isExact(value)) return `<c r="${at}"><v>${value}</v></c>`;
  return textCell(cellText(value), at, column);
}

function textCell(text: string, at: string, column: string): string {
  if (text.length > LONGEST_TEXT) throw beyond(`a text of more than ${LONGEST_TEXT} characters, in the column ${column}`);
  return `<c r="${at}" t="inlineStr"><is><t xml:space="preserve">${escaped(text)}</t></is></c>`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
// Characters that XML does not allow, and texts that look like their escape (ECMA-376 part 1, section 22.9.2.19).
// oxlint-disable-next-line no-control-regex
const SPECIAL = /[&<>\u0000-\u0008\u000b-\u001f\ufffe\uffff]|_(?=x[\da-f]{4}_)/gi;

const escaped = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(SPECIAL, (found) => ENTITIES[found] ?? `_x${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`);

/** A, B … Z, AA … */
function lettersOf(index: number): string {
  const rest = Math.floor(index / 26);
  return (rest === 0 ? '' : lettersOf(rest - 1)) + String.fromCharCode(65 + (index % 26));
}

const beyond = (what: string): AppError =>
  new AppError('too_large', `The result has ${what}, which a spreadsheet does not hold. Use CSV or JSON Lines.`);
