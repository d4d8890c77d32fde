import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { Table, TableColumn } from '#core/contract/definitions/schema.ts';
import type { Dialect } from './scan.ts';
import type { TableLabel } from './table-labels.ts';
import { asciiName, beginning, wordsOf } from './table-words.ts';

export interface TableSource {
  readonly table: Pick<Table, 'schema' | 'name' | 'in_path' | 'comment'>;
  readonly columns: readonly TableColumn[];
}

export interface Source extends TableSource {
  readonly dialect: Dialect;
  /** Names of what foreign keys refer to, which are joined in. */
  readonly labels?: readonly TableLabel[];
}

/** A column with the name of its parameter. */
export interface Named {
  readonly column: TableColumn;
  readonly parameter: string;
}

export const MOST_NAME = 64;
export const MOST_DESCRIPTION = 5_000;
const MOST_CHOICES = 1_000;
const MOST_FILTERS = 4;
const MOST_TEXTS = 3;
const MOST_SUMS = 3;
const MOST_GROUPS = 2;

export const isComparable = ({ parameter }: TableColumn): boolean => parameter !== null && parameter !== 'json';

export const keysOf = (columns: readonly TableColumn[]): TableColumn[] => columns.filter(({ primary_key }) => primary_key);

/** Texts that people search by: names and titles first. */
export function textsOf(columns: readonly TableColumn[]): TableColumn[] {
  const texts = columns.filter(({ searchable, references }) => searchable && references === undefined);
  const weight = ({ name }: TableColumn) => (/name|title|label|subject|email|description/i.test(name) ? 0 : 1);
  return texts.toSorted((a, b) => weight(a) - weight(b)).slice(0, MOST_TEXTS);
}

const isState = ({ name }: TableColumn): boolean =>
  /(?:^|_)(?:status|state|type|kind|category|country|active|enabled)$/i.test(name);

/** Columns with few values: references, allowed values, states, kinds. */
const hasFewValues = (column: TableColumn): boolean =>
  isComparable(column) &&
  (column.references !== undefined || column.enum !== undefined || isState(column) || column.parameter === 'boolean');

/** Columns that narrow a list. @param taken names that other parameters have. */
export function filtersOf(source: Source, taken: readonly string[], without?: TableColumn): Named[] {
  const fits = (column: TableColumn) => column !== without && !column.primary_key && hasFewValues(column);
  return named(source, source.columns.filter(fits).slice(0, MOST_FILTERS), taken);
}

/** Columns by whose values rows are counted: allowed values and references with a label first. */
export function groupsOf({ columns, labels }: Source): TableColumn[] {
  const is_composite = keysOf(columns).length > 1;
  const weight = (column: TableColumn): number => {
    if (column.enum !== undefined || labels?.some(({ column: name }) => name === column.name)) return 0;
    return isState(column) ? 1 : 2;
  };
  return columns
    .filter(
      (column) =>
        hasFewValues(column) && column.sortable && column.parameter !== 'bytes' && (is_composite || !column.primary_key),
    )
    .toSorted((a, b) => weight(a) - weight(b))
    .slice(0, MOST_GROUPS);
}

/** Columns whose sum means something: amounts and counts, never keys, rates, prices of one or positions. */
const COUNTED =
  /\b(?:total|amount|sum|revenue|sales|costs?|fees?|tax|vat|net|gross|paid|spent|profit|budget|salary|quantity|qty|count|cents|units|hours|minutes|seconds|duration|bytes|views|clicks|visits|points)\b/;
const NOT_SUMMED =
  /\b(?:id|no|nr|number|code|year|month|day|week|zip|phone|lat|latitude|lng|lon|longitude|version|rate|ratio|percent|percentage|pct|rank|score|rating|grade|age|weight|height|width|length|depth|temperature|temp|position|level|priority|sort|balance|average|avg|mean|median|min|max|minimum|maximum|limit|per|unit|probability|factor|exchange|index|x|y|z)\b/;
const OF_ONE = /\b(?:price|discount)\b/;

export const sumsOf = ({ columns }: Source): TableColumn[] =>
  columns
    .filter(({ name, parameter, primary_key, references, enum: choices }) => {
      if (primary_key || references !== undefined || choices !== undefined) return false;
      const words = wordsOf(name);
      if (NOT_SUMMED.test(words) || (OF_ONE.test(words) && !/\b(?:total|amount|sum)\b/.test(words))) return false;
      return parameter === 'number' || (parameter === 'integer' && COUNTED.test(words));
    })
    .toSorted((a, b) => Number(COUNTED.test(wordsOf(b.name))) - Number(COUNTED.test(wordsOf(a.name))))
    .slice(0, MOST_SUMS);

/** The date that rows belong to. SQLite stores many dates as text. */
export function dateOf({ columns, dialect }: Source): TableColumn | undefined {
  const isDate = ({ name, parameter, type }: TableColumn): boolean =>
    parameter === 'date' ||
    parameter === 'datetime' ||
    (dialect === 'sqlite' && /^text$/i.test(type) && /(?:^|_)(?:date|timestamp|at|on)$/i.test(name));
  const weight = ({ name }: TableColumn): number =>
    /updat|modif|chang|delet|expir|birth|until|valid|^(?:due|end)/i.test(name) ? 1 : 0;
  return columns.filter(isDate).toSorted((a, b) => weight(a) - weight(b))[0];
}

/** Columns may differ in case only, be called as another parameter is, or have no letter that a parameter can have. */
export function named(source: Source, columns: readonly TableColumn[], taken: readonly string[] = []): Named[] {
  const used = new Set(taken);
  return columns.map((column) => {
    const ascii = asciiName(column.name) || `column_${source.columns.indexOf(column) + 1}`;
    const parameter = freeName(/^[a-z]/.test(ascii) ? ascii : `p_${ascii}`, used);
    used.add(parameter);
    return { column, parameter };
  });
}

/** The name, with a number when it is taken. */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  const first = name.slice(0, MOST_NAME);
  let free = first;
  for (let n = 2; taken.has(free); n++) free = `${first.slice(0, MOST_NAME - 4)}_${n}`;
  return free;
}

export const optionalFilter = (filter: Named): Parameter => ({
  ...parameterOf(filter, `Only with this ${readable(filter)}`),
  required: false,
});

export function parameterOf({ column, parameter }: Named, description: string): Omit<Parameter, 'required'> {
  const type = column.parameter ?? 'string';
  const kind = type === 'integer' || type === 'number' ? 'number' : type;
  const choices = (column.enum ?? []).filter((choice) => typeof choice === kind);
  // Some of the values alone would refuse the others.
  const is_whole = choices.length > 0 && choices.length === column.enum?.length && choices.length <= MOST_CHOICES;
  return {
    name: parameter,
    type,
    description: beginning(column.comment ?? description, MOST_DESCRIPTION),
    ...(is_whole ? { enum: choices } : {}),
  };
}

export const tableSlug = ({ table }: TableSource): string => asciiName(table.name) || 'rows';
export const tableWords = ({ table }: TableSource): string => wordsOf(table.name) || 'rows';
export const readable = ({ column }: Pick<Named, 'column'>): string => wordsOf(column.name) || column.name;
/** What a foreign key refers to: `customer` of `customer_id`. */
export const subjectOf = (column: TableColumn): string => readable({ column }).replace(/ (?:id|uuid|key|code)$/, '');
