import { beginningOf, decodingOf } from './encoding.ts';
import type { BuildStep } from './plan.ts';
import { FILENAME, literal, pathsOf, type SourceText } from './text.ts';

type ReadStep = Extract<BuildStep, { step: 'read' }>;

const DELIMITERS = [',', ';', '\t', '|'];
const REJECTS = 10_000;

/**
 * Ways to read CSV, the strictest first. Types come from all rows, not from a sample; what does not fit becomes text. The delimiter is
 * read from the first line: one short line at the end makes DuckDB take the whole file for one column.
 */
export function csvSources(step: ReadStep): SourceText[] {
  const { settings } = step;
  const plain = { encoding: settings.encoding, text: settings.as_text === true };
  const bytes = beginningOf(step.paths[0]!);
  const ways = [
    { ...plain, note: null },
    ...(plain.text || settings.types
      ? []
      : [{ ...plain, text: true, note: 'The types of the columns could not be told apart, so all of them are text.' }]),
    // What has zero bytes is no text of one byte for each letter.
    ...(settings.encoding || bytes.includes(0)
      ? []
      : [{ encoding: 'latin-1' as const, text: plain.text, note: 'The file is not UTF-8 and was read as Latin-1.' }]),
  ];
  const beginning = new TextDecoder(decodingOf(bytes, settings.encoding)).decode(bytes);
  const delimiter = settings.delimiter ?? delimiterOf(beginning);
  const numbers = settings.decimal === undefined ? numbersIn(beginning, delimiter) : settings.decimal === ',' ? WITH_COMMA : [];
  return ways.map(({ encoding, text, note }) => ({
    sql: (paths) => textOf(step, paths, delimiter, numbers, text),
    encoding,
    note,
    rejects: !step.many,
  }));
}

function textOf(
  { many, settings }: ReadStep,
  paths: readonly string[],
  delimiter: string | null,
  numbers: readonly string[],
  text: boolean,
): string {
  const { header, dates, types } = settings;
  const options = [
    'sample_size = -1',
    // Tables with the columns of several files know no rejected lines.
    ...(many ? [] : ['store_rejects = true', `rejects_limit = ${REJECTS}`]),
    ...(delimiter === null ? [] : [`delim = ${literal(delimiter)}`]),
    ...(header === undefined ? [] : [`header = ${header}`]),
    ...numbers,
    ...(dates === undefined ? [] : [`dateformat = ${literal(dates)}`]),
    ...(text ? ['all_varchar = true'] : []),
    ...(types === undefined || text
      ? []
      : [
          `types = {${Object.entries(types)
            .map(([name, type]) => `${literal(name)}: ${literal(type)}`)
            .join(', ')}}`,
        ]),
    ...(many ? ['union_by_name = true', 'filename = true'] : []),
  ];
  return `SELECT *${many ? ` REPLACE (${FILENAME})` : ''} FROM read_csv(${[pathsOf(paths), ...options].join(', ')})`;
}

/** The most frequent of the usual ones in the first line, outside of quotes; null: there is one column. */
function delimiterOf(beginning: string): string | null {
  const line = firstLine(beginning).replaceAll(/"[^"]*"/g, '');
  const counts = DELIMITERS.map((delimiter) => ({ delimiter, count: line.split(delimiter).length - 1 }));
  const best = counts.toSorted((a, b) => b.count - a.count)[0];
  return best === undefined || best.count === 0 ? null : best.delimiter;
}

const COMMA = `decimal_separator = ','`;
const WITH_COMMA = [COMMA, `thousands = '.'`];
const COMMA_NUMBER = /^[-+]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+$/;
/** 1.234 may be either. */
const POINT_NUMBER = /^[-+]?\d+\.(?!\d{3}$)\d+$/;
const THOUSANDS = /\.\d{3},/;
/** Without their points, dates would be numbers. */
const DATED = /^\d{1,4}\.\d{1,2}\.\d/;

/** How numbers are written, where some have a decimal comma and none a point. */
function numbersIn(beginning: string, delimiter: string | null): readonly string[] {
  if (delimiter === null || delimiter === ',') return [];
  const lines = beginning.split(/\r\n|\n|\r/).slice(1);
  const fields = lines.flatMap((line) => line.split(delimiter).map((field) => field.trim().replaceAll(/^"|"$/g, '')));
  if (!fields.some((field) => COMMA_NUMBER.test(field)) || fields.some((field) => POINT_NUMBER.test(field))) return [];
  const has_thousands = fields.some((field) => THOUSANDS.test(field)) && !fields.some((field) => DATED.test(field));
  return has_thousands ? WITH_COMMA : [COMMA];
}

const firstLine = (text: string): string => text.split(/\r\n|\n|\r/).find((line) => line.trim() !== '') ?? '';
