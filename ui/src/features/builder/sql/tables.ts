import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { Table, TableColumn } from '#core/contract/definitions/schema.ts';
import type { ReturnType } from '#core/contract/definitions/tools.ts';
import { quoteName } from './completion.ts';
import { typeOfColumn } from '#core/lib/sql/column-type.ts';
import { capital } from '#ui/src/kernel/words.ts';
import { type Dialect, isPostgres } from './scan.ts';

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
    if (recipe === 'read') return keysOf(columns).length > 0;
    return recipe !== 'search' || textsOf(columns).length > 0;
  });

interface TableDraft {
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

interface Source extends TableSource {
  readonly dialect: Dialect;
}

/** A tool to begin with: runs as it is, and says what it does. */
export function draftFromTable(recipe: TableRecipe, source: Source): TableDraft {
  return DRAFTS[recipe](source);
}

const DRAFTS: Readonly<Record<TableRecipe, (source: Source) => TableDraft>> = {
  read(source) {
    const { columns } = source;
    const keys = keysOf(columns);
    const one = singular(wordsOf(source));
    return draft(source, `get_${one.replaceAll(' ', '_')}`, `Read ${article(one)}`, {
      description: `One row of ${wordsOf(source)} by ${list(keys.map(({ name }) => readable(name)))}.`,
      sql: [
        `select ${columnList(source)}`,
        `from ${tableName(source)}`,
        `where ${keys.map((key) => equals(source, key)).join('\n  and ')}`,
      ],
      parameters: keys.map((column) => required(column, `${capital(readable(column.name))} of the ${one}`)),
      return_type: 'row',
    });
  },
  list(source) {
    const filters = filtersOf(source.columns);
    return draft(source, `list_${slug(source)}`, `List ${wordsOf(source)}`, {
      description: `${capital(wordsOf(source))}, page by page${filteredBy(filters)}. Call again with a larger offset for more.`,
      sql: [...selection(source, filters), ...ordering(source), 'limit :limit offset :offset'],
      parameters: [...filters.map(optionalFilter), LIMIT, OFFSET],
      return_type: 'rows',
    });
  },
  search(source) {
    const texts = textsOf(source.columns);
    const match = texts.map(({ name }) => contains(quoteName(name, source.dialect), source.dialect));
    return draft(source, `search_${slug(source)}`, `Search ${wordsOf(source)}`, {
      description: `Finds ${wordsOf(source)} by a part of ${list(texts.map(({ name }) => readable(name)))}.`,
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
    const filters = filtersOf(source.columns);
    return draft(source, `count_${slug(source)}`, `Count ${wordsOf(source)}`, {
      description: `How many ${wordsOf(source)} there are${filteredBy(filters)}.`,
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
    name: name.slice(0, 64),
    title: title.slice(0, 200),
    description:
      comment === '' ? content.description : `${content.description} ${capital(comment).replace(/\.?$/, '.')}`.slice(0, 5_000),
    sql_query: content.sql.join('\n'),
    parameters: content.parameters,
    return_type: content.return_type,
    tags: [slugOf(table.name)].filter((tag) => tag !== ''),
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
const MOST_FILTERS = 4;
const MOST_TEXTS = 3;

const keysOf = (columns: readonly TableColumn[]): TableColumn[] => columns.filter(({ primary_key }) => primary_key);

/** Texts that people search by: names and titles first. */
function textsOf(columns: readonly TableColumn[]): TableColumn[] {
  const texts = columns.filter(
    (column) =>
      typeOfColumn(column) === 'string' && /char|text|string|clob|^$/i.test(column.type) && column.references === undefined,
  );
  const weight = ({ name }: TableColumn) => (/name|title|label|subject|email|description/i.test(name) ? 0 : 1);
  return texts.toSorted((a, b) => weight(a) - weight(b)).slice(0, MOST_TEXTS);
}

/** Columns that narrow a list: references, states, kinds, days. */
function filtersOf(columns: readonly TableColumn[]): TableColumn[] {
  const fits = (column: TableColumn) =>
    !column.primary_key &&
    (column.references !== undefined ||
      /(?:^|_)(?:status|state|type|kind|category|country|active|enabled)$/i.test(column.name) ||
      typeOfColumn(column) === 'boolean');
  return columns.filter(fits).slice(0, MOST_FILTERS);
}

const selection = (source: Source, filters: readonly TableColumn[]): string[] => [
  `select ${columnList(source)}`,
  `from ${tableName(source)}`,
  ...conditions(source, filters),
];

const conditions = (source: Source, filters: readonly TableColumn[]): string[] =>
  filters.length === 0 ? [] : ['where 1 = 1', ...filters.map((column) => `  [[ and ${equals(source, column)} ]]`)];

/** Pages need an order that does not change between them. */
function ordering({ columns, dialect }: Source): string[] {
  const keys = keysOf(columns);
  const first = keys.length > 0 ? keys : columns.slice(0, 1);
  return first.length === 0 ? [] : [`order by ${first.map(({ name }) => quoteName(name, dialect)).join(', ')}`];
}

const equals = ({ dialect }: Source, { name }: TableColumn): string => `${quoteName(name, dialect)} = :${parameterName(name)}`;

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

const required = (column: TableColumn, description: string): Parameter => ({
  ...parameterOf(column, description),
  required: true,
});

const optionalFilter = (column: TableColumn): Parameter => ({
  ...parameterOf(column, `Only with this ${readable(column.name)}`),
  required: false,
});

function parameterOf(column: TableColumn, description: string): Omit<Parameter, 'required'> {
  const choices = column.enum ?? [];
  return {
    name: parameterName(column.name),
    type: typeOfColumn(column),
    description: column.comment ?? description,
    ...(choices.length === 0 ? {} : { enum: choices }),
  };
}

const slugOf = (name: string): string =>
  name
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
const parameterName = (column: string): string => {
  const name = slugOf(column).slice(0, 64);
  return /^[a-z_]/.test(name) ? name : `p_${name}`;
};
const slug = ({ table }: Source): string => slugOf(table.name) || 'rows';
const wordsOf = (source: Source): string => readable(slug(source));
const readable = (name: string): string => slugOf(name).replaceAll('_', ' ');
const article = (word: string): string => `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`;
const list = (words: readonly string[]): string =>
  words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
const filteredBy = (filters: readonly TableColumn[]): string =>
  filters.length === 0 ? '' : `, optionally only those of one ${list(filters.map(({ name }) => readable(name)))}`;

function singular(words: string): string {
  if (/(?:ss|us|is)$/.test(words)) return words;
  if (words.endsWith('ies')) return `${words.slice(0, -3)}y`;
  if (/(?:ses|xes|zes|ches|shes)$/.test(words)) return words.replace(/es$/, '');
  return words.replace(/s$/, '');
}
