import type { FileSettings } from '#core/contract/definitions/file-settings.ts';
import { beginningOf, decodingOf } from './encoding.ts';
import type { BuildStep } from './plan.ts';
import { FILENAME, literal, pathsOf, type SourceText } from './text.ts';

type ReadStep = Extract<BuildStep, { step: 'read' }>;

const DELIMITERS = [',', ';', '\t', '|'];
const REJECTS = 10_000;

/**
 * Ways to read CSV, the strictest first. Types are inferred from all rows, not from a sample; a column that fits no type becomes
 * text. The delimiter is taken from the first line, because one short last line makes DuckDB read the whole file as one column.
 */
export function csvSources(step: ReadStep): SourceText[] {
  const { settings } = step;
  const plain = { encoding: settings.encoding, text: settings.as_text === true };
  const bytes = beginningOf(step.paths[0]!);
  const ways = [
    { ...plain, note: null },
    ...(plain.text || settings.types || settings.thousands
      ? []
      : [{ ...plain, text: true, note: 'The types of the columns could not be told apart, so all of them are text.' }]),
    // A file with zero bytes is not in a single-byte encoding.
    ...(settings.encoding || bytes.includes(0)
      ? []
      : [{ encoding: 'latin-1' as const, text: plain.text, note: 'The file is not UTF-8 and was read as Latin-1.' }]),
  ];
  const beginning = decoded(bytes, settings.encoding);
  const delimiter = settings.delimiter ?? delimiterOf(beginning);
  const numbers = settings.decimal === undefined ? numbersIn(beginning, delimiter) : settings.decimal === ',' ? WITH_COMMA : [];
  return ways.map(({ encoding, text, note }) => ({
    sql: (paths) => textOf(step, paths, delimiter, numbers, text),
    encoding,
    note,
    rejects: !step.many,
  }));
}

const decoded = (bytes: Buffer, encoding: FileSettings['encoding']): string =>
  new TextDecoder(decodingOf(bytes, encoding)).decode(bytes);

/** The first line with text of a file, which most often has the names of its columns. */
export const headerOf = ({ paths, settings }: ReadStep): string => firstLine(decoded(beginningOf(paths[0]!), settings.encoding));

function textOf(
  { many, settings }: ReadStep,
  paths: readonly string[],
  delimiter: string | null,
  numbers: readonly string[],
  text: boolean,
): string {
  const { header, dates } = settings;
  // The numbers of these columns are read once they are in the table.
  const texts = Object.keys(settings.thousands ?? {}).map((name): [string, string] => [name, 'VARCHAR']);
  const types = [...Object.entries(settings.types ?? {}).filter(([name]) => settings.thousands?.[name] === undefined), ...texts];
  const options = [
    'sample_size = -1',
    // DuckDB cannot report rejected lines when several files are combined by column name.
    ...(many ? [] : ['store_rejects = true', `rejects_limit = ${REJECTS}`]),
    ...(delimiter === null ? [] : [`delim = ${literal(delimiter)}`]),
    ...(header === undefined ? [] : [`header = ${header}`]),
    ...numbers,
    ...(dates === undefined ? [] : [`dateformat = ${literal(dates)}`]),
    ...(text ? ['all_varchar = true'] : []),
    ...(types.length === 0 || text
      ? []
      : [`types = {${types.map(([name, type]) => `${literal(name)}: ${literal(type)}`).join(', ')}}`]),
    ...(many ? ['union_by_name = true', 'filename = true'] : []),
  ];
  return `SELECT *${many ? ` REPLACE (${FILENAME})` : ''} FROM read_csv(${[pathsOf(paths), ...options].join(', ')})`;
}

/** The most frequent common delimiter in the first line, outside quotes. Null: there is one column. */
function delimiterOf(beginning: string): string | null {
  const line = firstLine(beginning).replaceAll(/"[^"]*"/g, '');
  const counts = DELIMITERS.map((delimiter) => ({ delimiter, count: line.split(delimiter).length - 1 }));
  const best = counts.toSorted((a, b) => b.count - a.count)[0];
  return best === undefined || best.count === 0 ? null : best.delimiter;
}

const COMMA = `decimal_separator = ','`;
const WITH_COMMA = [COMMA, `thousands = '.'`];
/** A number with a decimal comma. `1,234` is ambiguous and does not count. */
const COMMA_NUMBER = /^[-+]?(?:\d+,(?!\d{3}$)\d+|\d{1,3}(?:\.\d{3})+,\d+)$/;
/** A number with a decimal point. `1.234` is ambiguous and does not count. */
const POINT_NUMBER = /^[-+]?\d+\.(?!\d{3}$)\d+$/;
const THOUSANDS = /\.\d{3},/;
/** Without their points, dates would look like numbers. */
const DATED = /^\d{1,4}\.\d{1,2}\.\d/;

/** The decimal separators to try: a comma only when some numbers have one and none has a point. */
function numbersIn(beginning: string, delimiter: string | null): readonly string[] {
  if (delimiter === null || delimiter === ',') return [];
  const lines = beginning.split(/\r\n|\n|\r/).slice(1);
  const fields = lines.flatMap((line) => line.split(delimiter).map((field) => field.trim().replaceAll(/^"|"$/g, '')));
  if (!fields.some((field) => COMMA_NUMBER.test(field)) || fields.some((field) => POINT_NUMBER.test(field))) return [];
  const has_thousands = fields.some((field) => THOUSANDS.test(field)) && !fields.some((field) => DATED.test(field));
  return has_thousands ? WITH_COMMA : [COMMA];
}

const firstLine = (text: string): string => text.split(/\r\n|\n|\r/).find((line) => line.trim() !== '') ?? '';
