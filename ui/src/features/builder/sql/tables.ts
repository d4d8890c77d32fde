import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { Table, TableColumn } from '#core/contract/definitions/schema.ts';
import type { ReturnType } from '#core/contract/definitions/tools.ts';
import { quoteName } from './completion.ts';
import { capital } from '#ui/src/kernel/words.ts';
import { type Dialect, isPostgres } from './scan.ts';
import { article, asciiName, beginning, list, singular, wordsOf } from './table-words.ts';

/** What a first tool of a table does. */
export type TableRecipe = 'read' | 'list' | 'search' | 'count';

interface Recipe {
  readonly recipe: TableRecipe;
  readonly label: string;
  readonly hint: string;
}

const RECIPES: readonly Recipe[] = [
  { recipe: 'read', label: 'Read one', hint: 'By its key' },
  { recipe: 'search', label: 'Search', hint: 'By part of its text columns' },
  { recipe: 'list', label: 'List', hint: 'Page by page, with filters' },
  { recipe: 'count', label: 'Count', hint: 'How many, with filters' },
];

/** The recipes that a table with these columns has the columns for. */
export const recipesFor = (columns: readonly TableColumn[]): Recipe[] =>
  RECIPES.filter(({ recipe }) => {
    if (recipe === 'read') return keysOf(columns).length > 0 && keysOf(columns).every(isComparable);
    return recipe !== 'search' || textsOf(columns).length > 0;
  });

export interface TableDraft {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly sql_query: string;
  readonly parameters: Parameter[];
  readonly return_type: ReturnType;
  readonly tags: string[];
}

export interface TableSource {
  readonly table: Pick<Table, 'schema' | 'name' | 'in_path' | 'comment'>;
  readonly columns: readonly TableColumn[];
}

export interface Source extends TableSource {
  readonly dialect: Dialect;
}

/** A tool to begin with: says what it does, and runs as it is unless its database refuses it. */
export function draftFromTable(recipe: TableRecipe, source: Source): TableDraft {
  return DRAFTS[recipe](source);
}

const DRAFTS: Readonly<Record<TableRecipe, (source: Source) => TableDraft>> = {
  read(source) {
    const keys = named(source, keysOf(source.columns));
    const one = singular(tableWords(source));
    return draft(source, `get_${asciiName(one) || 'row'}`, `Read ${article(one)}`, {
      description: `One row of ${tableWords(source)} by ${list(keys.map(readable))}.`,
      sql: [
        `select ${columnList(source)}`,
        `from ${tableName(source)}`,
        `where ${keys.map((key) => equals(source, key)).join('\n  and ')}`,
      ],
      parameters: keys.map((key) => ({ ...parameterOf(key, `${capital(readable(key))} of the ${one}`), required: true })),
      return_type: 'row',
    });
  },
  list(source) {
    const filters = filtersOf(source, [LIMIT.name, OFFSET.name]);
    return draft(source, `list_${tableSlug(source)}`, `List ${tableWords(source)}`, {
      description: `${capital(tableWords(source))}, page by page${filteredBy(filters)}. Call again with a larger offset for more.`,
      sql: [
        `select ${columnList(source)}`,
        `from ${tableName(source)}`,
        ...conditions(source, filters),
        ...ordering(source),
        'limit :limit offset :offset',
      ],
      parameters: [...filters.map(optionalFilter), LIMIT, OFFSET],
      return_type: 'rows',
    });
  },
  search(source) {
    const texts = textsOf(source.columns);
    const match = texts.map(({ name }) => contains(quoteName(name, source.dialect), source.dialect));
    const words = texts.map((column) => readable({ column }));
    return draft(source, `search_${tableSlug(source)}`, `Search ${tableWords(source)}`, {
      description: `Finds ${tableWords(source)} by a part of ${list(words)}.`,
      sql: [
        `select ${columnList(source)}`,
        `from ${tableName(source)}`,
        `where ${match.length === 1 ? match[0] : `(${match.join('\n    or ')})`}`,
        ...ordering(source),
        'limit :limit',
      ],
      parameters: [
        { name: 'text', type: 'string', description: 'Part of the text to look for', required: true, max_length: 200 },
        LIMIT,
      ],
      return_type: 'rows',
    });
  },
  count(source) {
    const filters = filtersOf(source, []);
    return draft(source, `count_${tableSlug(source)}`, `Count ${tableWords(source)}`, {
      description: `How many ${tableWords(source)} there are${filteredBy(filters)}.`,
      sql: ['select count(*) as total', `from ${tableName(source)}`, ...conditions(source, filters)],
      parameters: filters.map(optionalFilter),
      return_type: 'row',
    });
  },
};

interface Content {
  readonly description: string;
  readonly sql: readonly string[];
  readonly parameters: Parameter[];
  readonly return_type: ReturnType;
}

function draft({ table }: Source, name: string, title: string, content: Content): TableDraft {
  const comment = table.comment?.trim() ?? '';
  return {
    name: name.slice(0, MOST_NAME),
    title: beginning(title, 200),
    description:
      comment === ''
        ? content.description
        : beginning(`${content.description} ${capital(comment).replace(/\.?$/, '.')}`, MOST_DESCRIPTION),
    sql_query: content.sql.join('\n'),
    parameters: content.parameters,
    return_type: content.return_type,
    tags: [beginning(wordsOf(table.name).replaceAll(' ', '_'), 64)].filter((tag) => tag !== ''),
  };
}

const LIMIT: Parameter = {
  name: 'limit',
  type: 'integer',
  description: 'Most rows',
  required: false,
  default: 20,
  minimum: 1,
  maximum: 100,
};
const OFFSET: Parameter = {
  name: 'offset',
  type: 'integer',
  description: 'Rows to skip',
  required: false,
  default: 0,
  minimum: 0,
};
const MOST_NAME = 64;
const MOST_DESCRIPTION = 5_000;
const MOST_CHOICES = 1_000;
const MOST_FILTERS = 4;
const MOST_TEXTS = 3;

const keysOf = (columns: readonly TableColumn[]): TableColumn[] => columns.filter(({ primary_key }) => primary_key);

const isComparable = ({ parameter }: TableColumn): boolean => parameter !== null && parameter !== 'json';

/** Texts that people search by: names and titles first. */
function textsOf(columns: readonly TableColumn[]): TableColumn[] {
  const texts = columns.filter(({ searchable, references }) => searchable && references === undefined);
  const weight = ({ name }: TableColumn) => (/name|title|label|subject|email|description/i.test(name) ? 0 : 1);
  return texts.toSorted((a, b) => weight(a) - weight(b)).slice(0, MOST_TEXTS);
}

/** A column with the name of its parameter. */
interface Named {
  readonly column: TableColumn;
  readonly parameter: string;
}

/** Columns that narrow a list: references, states, kinds. */
function filtersOf(source: Source, taken: readonly string[]): Named[] {
  const fits = (column: TableColumn) =>
    isComparable(column) &&
    !column.primary_key &&
    (column.references !== undefined ||
      /(?:^|_)(?:status|state|type|kind|category|country|active|enabled)$/i.test(column.name) ||
      column.parameter === 'boolean');
  return named(source, source.columns.filter(fits).slice(0, MOST_FILTERS), taken);
}

/** Columns may differ in case only, be called as another parameter is, or have no letter that a parameter can have. */
function named(source: Source, columns: readonly TableColumn[], taken: readonly string[] = []): Named[] {
  const used = new Set(taken);
  return columns.map((column) => {
    const ascii = asciiName(column.name) || `column_${source.columns.indexOf(column) + 1}`;
    const first = (/^[a-z]/.test(ascii) ? ascii : `p_${ascii}`).slice(0, MOST_NAME);
    let parameter = first;
    for (let n = 2; used.has(parameter); n++) parameter = `${first.slice(0, MOST_NAME - 4)}_${n}`;
    used.add(parameter);
    return { column, parameter };
  });
}

const conditions = (source: Source, filters: readonly Named[]): string[] =>
  filters.length === 0 ? [] : ['where 1 = 1', ...filters.map((filter) => `  [[ and ${equals(source, filter)} ]]`)];

/** Pages need an order that does not change between them. */
function ordering({ columns, dialect }: Source): string[] {
  const keys = keysOf(columns);
  const sortable = columns.filter((column) => column.sortable);
  const first = keys.length > 0 && keys.every((key) => key.sortable) ? keys : sortable.slice(0, 1);
  return first.length === 0 ? [] : [`order by ${first.map(({ name }) => quoteName(name, dialect)).join(', ')}`];
}

const equals = ({ dialect }: Source, { column, parameter }: Named): string =>
  `${quoteName(column.name, dialect)} = :${parameter}`;

const contains = (column: string, dialect: Dialect): string => {
  if (dialect === 'mysql') return `${column} like concat('%', :text, '%')`;
  if (dialect === 'clickhouse') return `positionCaseInsensitiveUTF8(${column}, :text) > 0`;
  return `${column} ${isPostgres(dialect) ? 'ilike' : 'like'} '%' || :text || '%'`;
};

const MOST_COLUMNS = 40;

function columnList({ columns, dialect }: Source): string {
  if (columns.length === 0 || columns.length > MOST_COLUMNS) return '*';
  return columns.map(({ name }) => quoteName(name, dialect)).join(', ');
}

function tableName({ table: { schema, name, in_path }, dialect }: Source): string {
  const bare = quoteName(name, dialect);
  return in_path || schema === null ? bare : `${quoteName(schema, dialect)}.${bare}`;
}

const optionalFilter = (filter: Named): Parameter => ({
  ...parameterOf(filter, `Only with this ${readable(filter)}`),
  required: false,
});

function parameterOf({ column, parameter }: Named, description: string): Omit<Parameter, 'required'> {
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

const tableSlug = ({ table }: Source): string => asciiName(table.name) || 'rows';
const tableWords = ({ table }: Source): string => wordsOf(table.name) || 'rows';
const readable = ({ column }: Pick<Named, 'column'>): string => wordsOf(column.name) || column.name;
const filteredBy = (filters: readonly Named[]): string =>
  filters.length === 0 ? '' : `, optionally only those of one ${list(filters.map(readable))}`;
