import { closeSync, openSync, readSync } from 'node:fs';
import { constants, gunzipSync } from 'node:zlib';
import type { BuildStep } from './plan.ts';
import { FILENAME, literal, pathsOf, type SourceText } from './text.ts';

type ReadStep = Extract<BuildStep, { step: 'read' }>;

const BEGINNING = 64 * 1024;
const DELIMITERS = [',', ';', '\t', '|'];
const REJECTS = 10_000;

/**
 * Ways to read CSV, the strictest first. Types come from all rows, not from a sample; what does not fit becomes text. The delimiter is
 * read from the first line: one short line at the end makes DuckDB take the whole file for one column.
 */
export function csvSources(step: ReadStep): SourceText[] {
  const { settings } = step;
  const plain = { encoding: settings.encoding, text: settings.as_text === true };
  const ways = [
    { ...plain, note: null },
    ...(plain.text || settings.types
      ? []
      : [{ ...plain, text: true, note: 'The types of the columns could not be told apart, so all of them are text.' }]),
    ...(settings.encoding
      ? []
      : [{ encoding: 'latin-1', text: plain.text, note: 'The file is not UTF-8 and was read as Latin-1.' }]),
  ];
  const beginning = beginningOf(step.paths[0]!);
  const delimiter = settings.delimiter ?? delimiterOf(beginning);
  const numbers = settings.decimal === undefined ? numbersIn(beginning, delimiter) : settings.decimal === ',' ? WITH_COMMA : [];
  return ways.map(({ encoding, text, note }) => ({
    sql: textOf(step, delimiter, numbers, encoding, text),
    note,
    rejects: !step.many,
  }));
}

function textOf(
  { paths, many, settings }: ReadStep,
  delimiter: string | null,
  numbers: readonly string[],
  encoding: string | undefined,
  text: boolean,
): string {
  const { header, dates, types } = settings;
  const options = [
    'sample_size = -1',
    // Tables with the columns of several files know no rejected lines.
    ...(many ? [] : ['store_rejects = true', `rejects_limit = ${REJECTS}`]),
    ...(delimiter === null ? [] : [`delim = ${literal(delimiter)}`]),
    ...(header === undefined ? [] : [`header = ${header}`]),
    ...(encoding === undefined ? [] : [`encoding = ${literal(encoding)}`]),
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

function beginningOf(path: string): string {
  const buffer = Buffer.alloc(BEGINNING);
  const file = openSync(path, 'r');
  try {
    const bytes = buffer.subarray(0, readSync(file, buffer, 0, BEGINNING, 0));
    if (!/\.gz$/i.test(path)) return decode(bytes);
    return decode(gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 64 * BEGINNING }));
  } catch {
    // DuckDB says better what is wrong with it.
    return '';
  } finally {
    closeSync(file);
  }
}

const decode = (bytes: Uint8Array): string =>
  new TextDecoder(bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : 'utf-8').decode(bytes.subarray(0, BEGINNING));
