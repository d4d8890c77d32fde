import type { DuckDBConnection } from '@duckdb/node-api';
import type { Thousands } from '#core/contract/definitions/file-settings.ts';
import { headerOf } from './csv.ts';
import type { BuildStep, ReadableOffer, TableName } from './plan.ts';
import { literal, quoted, tableOf } from './text.ts';

type ReadStep = Extract<BuildStep, { step: 'read' }>;

/** A table with more columns gets no offers. */
const MOST_COLUMNS = 300;
/** Rows that are looked at before all are. */
const SAMPLE_ROWS = 2_000;
/** Digits of a 64-bit integer, of a DECIMAL, and its decimals, so that a double is not needed. */
const MOST_DIGITS = { integer: 18, decimal: 38, decimals: 9 };

const WHOLE = '(?:0|[1-9][0-9]*';
/** The numbers of each way to part thousands, for `regexp_full_match`. A number that begins with a zero may be a code. */
const NUMBERS: Readonly<Record<Thousands, string>> = {
  ',': `[-+]?${WHOLE}|[1-9][0-9]{0,2}(?:,[0-9]{3})+)(?:[.][0-9]+)?`,
  '.': `[-+]?${WHOLE}|[1-9][0-9]{0,2}(?:[.][0-9]{3})+)(?:,[0-9]+)?`,
  ' ': `[-+]?${WHOLE}|[1-9][0-9]{0,2}(?:[ \u00a0\u2009\u202f][0-9]{3})+)(?:[.,][0-9]+)?`,
  "'": `[-+]?${WHOLE}|[1-9][0-9]{0,2}(?:['’][0-9]{3})+)(?:[.,][0-9]+)?`,
};
const ANY_NUMBER = "[-+]?[0-9][0-9.,'’ \u00a0\u2009\u202f]*";

/** The text of a number without its thousands separators, with a decimal point. */
const PLAIN: Readonly<Record<Thousands, (text: string) => string>> = {
  ',': (text) => `replace(${text}, ',', '')`,
  '.': (text) => `replace(replace(${text}, '.', ''), ',', '.')`,
  ' ': (text) => `replace(regexp_replace(${text}, '[ \u00a0\u2009\u202f]', '', 'g'), ',', '.')`,
  "'": (text) => `replace(regexp_replace(${text}, '[''’]', '', 'g'), ',', '.')`,
};

/**
 * Reads the numbers of columns whose separators are set, drops columns without name and value, and those that are left out.
 * @returns what else could be read in a better way.
 */
export async function tidyColumns(connection: DuckDBConnection, table: TableName, step: ReadStep): Promise<ReadableOffer[]> {
  const { settings } = step;
  const target = tableOf(table);
  const described = await connection.runAndReadAll(`DESCRIBE ${target}`);
  const columns = described.getRows().map(([name, type]) => ({ name: String(name), is_text: type === 'VARCHAR' }));
  const left_out = columns.filter(({ name }) => settings.leave_out?.includes(name) === true);
  if (columns.length > MOST_COLUMNS) {
    await drop(connection, target, left_out, columns.length);
    return [];
  }
  const texts = columns.filter(({ name, is_text }) => is_text && !(step.many && name === 'filename'));
  const empty = await emptyColumns(connection, target, texts);
  const header = headerOf(step);
  // DuckDB calls a column without a name after its position.
  const nameless = empty.filter(({ name }) => /^column\d+$/.test(name) && !header.includes(name));
  await drop(connection, target, [...new Set([...left_out, ...nameless])], columns.length);
  const present = texts.filter((column) => !left_out.includes(column) && !nameless.includes(column));
  const is_text = settings.as_text === true;
  for (const { name } of is_text ? [] : present) {
    const thousands = settings.thousands?.[name];
    if (thousands !== undefined) await readNumbers(connection, target, name, thousands, settings.types?.[name]);
  }
  const isOpen = ({ name }: { readonly name: string }) =>
    settings.types?.[name] === undefined && settings.thousands?.[name] === undefined;
  const named = columns.filter((column) => !nameless.includes(column) && !left_out.includes(column));
  // Only columns at the end: an empty one between others often gets values later.
  const last = named.findLastIndex((column) => !empty.includes(column)) + 1;
  const offers = named.slice(last).filter((column) => last > 0 && isOpen(column) && empty.includes(column));
  const candidates = is_text ? [] : present.filter((column) => isOpen(column) && !empty.includes(column));
  return [
    ...(await numberOffers(connection, target, candidates)),
    ...offers.map(({ name }) => ({ column: name, kind: 'empty' as const, thousands: [] })),
  ];
}

interface Column {
  readonly name: string;
}

/** A table has at least one column. */
async function drop(connection: DuckDBConnection, target: string, columns: readonly Column[], all: number): Promise<void> {
  for (const { name } of columns.slice(0, all - 1)) await connection.run(`ALTER TABLE ${target} DROP COLUMN ${quoted(name)}`);
}

/** Columns of text without a value; a table without rows says nothing of its columns. */
async function emptyColumns<T extends Column>(connection: DuckDBConnection, target: string, columns: readonly T[]): Promise<T[]> {
  if (columns.length === 0) return [];
  const used = columns.map(({ name }) => `coalesce(bool_or(trim(${quoted(name)}) <> ''), false)`);
  const found = await connection.runAndReadAll(`SELECT count(*), ${used.join(', ')} FROM ${target}`);
  const [rows, ...values] = found.getRows()[0] ?? [];
  return Number(rows) === 0 ? [] : columns.filter((_, n) => values[n] === false);
}

/** Columns whose texts are all numbers with separators: first by a sample, then by all rows. */
async function numberOffers(connection: DuckDBConnection, target: string, columns: readonly Column[]): Promise<ReadableOffer[]> {
  if (columns.length === 0) return [];
  const likely = columns.map(({ name }) => `bool_and(trim(${quoted(name)}) = '' OR ${matches(quoted(name), ANY_NUMBER)})`);
  const sample = await connection.runAndReadAll(`SELECT ${likely.join(', ')} FROM (FROM ${target} LIMIT ${SAMPLE_ROWS})`);
  const row = sample.getRows()[0] ?? [];
  const offers: ReadableOffer[] = [];
  for (const { name } of columns.filter((_, n) => row[n] !== false)) {
    const thousands = await thousandsOf(connection, target, name);
    if (thousands.length > 0) offers.push({ column: name, kind: 'numbers', thousands });
  }
  return offers;
}

const matches = (text: string, pattern: string): string => `regexp_full_match(trim(${text}), ${literal(pattern)})`;

/** The ways in which all values of a column are numbers. Two: whether a comma or a point parts thousands is open. */
async function thousandsOf(connection: DuckDBConnection, target: string, name: string): Promise<Thousands[]> {
  const text = quoted(name);
  const found = await connection.runAndReadAll(
    `SELECT ${(Object.keys(NUMBERS) as Thousands[]).map((each) => `bool_and(${matches(text, NUMBERS[each])})`).join(', ')},
       bool_or(contains(${text}, ',')), bool_or(contains(${text}, '.')),
       bool_or(regexp_matches(trim(${text}), '[ \u00a0\u2009\u202f]')), bool_or(regexp_matches(${text}, '[''’]'))
     FROM ${target} WHERE trim(${text}) <> ''`,
  );
  const [comma, point, space, apostrophe, has_comma, has_point, has_space, has_apostrophe] = (found.getRows()[0] ?? []).map(
    (value) => value === true,
  );
  const mixed = has_comma === true && has_point === true;
  // With another separator of thousands, a comma or a point is the decimal sign, but not both.
  if (has_space) return space && !mixed ? [' '] : [];
  if (has_apostrophe) return apostrophe && !mixed ? ["'"] : [];
  if (!has_comma && !has_point) return [];
  return [...(comma ? [','] : []), ...(point ? ['.'] : [])] as Thousands[];
}

/** Changes a column of text to numbers. Exact ones, unless a type is set or there are more digits than those have. */
async function readNumbers(
  connection: DuckDBConnection,
  target: string,
  name: string,
  thousands: Thousands,
  type: string | undefined,
): Promise<void> {
  const text = quoted(name);
  const plain = `ltrim(${PLAIN[thousands](`trim(${text})`)}, '+')`;
  const found = await connection.runAndReadAll(
    `SELECT bool_and(${matches(text, NUMBERS[thousands])}), max(length(ltrim(split_part(${plain}, '.', 1), '-'))),
       max(length(split_part(${plain}, '.', 2)))
     FROM ${target} WHERE trim(${text}) <> ''`,
  );
  const [are_numbers, digits, decimals] = found.getRows()[0] ?? [];
  if (are_numbers === false) {
    throw new Error(
      `Column ${name} has values that are not numbers with “${thousands}” between thousands. Change how it is read.`,
    );
  }
  const to = type ?? numberType(Number(digits ?? 0), Number(decimals ?? 0));
  await connection.run(`ALTER TABLE ${target} ALTER COLUMN ${text} TYPE ${to} USING CAST(nullif(${plain}, '') AS ${to})`);
}

function numberType(digits: number, decimals: number): string {
  if (decimals === 0 && digits <= MOST_DIGITS.integer) return 'BIGINT';
  if (decimals > MOST_DIGITS.decimals || digits + decimals > MOST_DIGITS.decimal) return 'DOUBLE';
  return `DECIMAL(${Math.max(18, digits + decimals)}, ${decimals})`;
}
