import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { TableColumn } from '#core/contract/definitions/schema.ts';
import type { ReturnType } from '#core/contract/definitions/tools.ts';
import { capital } from '#ui/src/kernel/words.ts';
import { singular } from './singular.ts';
import {
  dateOf,
  filtersOf,
  freeName,
  groupsOf,
  isComparable,
  keysOf,
  MOST_DESCRIPTION,
  MOST_NAME,
  type Named,
  named,
  optionalFilter,
  parameterOf,
  readable,
  type Source,
  subjectOf,
  sumsOf,
  tableSlug,
  tableWords,
  textsOf,
} from './table-columns.ts';
import {
  columnList,
  conditions,
  contains,
  countOf,
  dayOf,
  equals,
  type From,
  fromTables,
  MONTHS,
  ordering,
  outputs,
  sumOf,
} from './table-sql.ts';
import { article, asciiName, beginning, list, wordsOf } from './table-words.ts';

export interface TableDraft {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly sql_query: string;
  readonly parameters: Parameter[];
  readonly return_type: ReturnType;
  readonly tags: string[];
}

/** A tool to begin with: says what it does, and runs as it is unless its database refuses it. */
export interface TableOffer {
  /** Differs for each offer of a table. */
  readonly recipe: string;
  readonly label: string;
  readonly draft: TableDraft;
}

/** The tools that a table has the columns for. */
export function offersFor(source: Source): TableOffer[] {
  const keys = keysOf(source.columns);
  const date = dateOf(source);
  return [
    ...(keys.length > 0 && keys.every(isComparable) ? [{ recipe: 'read', label: 'Read one', draft: readTool(source) }] : []),
    ...(textsOf(source.columns).length > 0 ? [{ recipe: 'search', label: 'Search', draft: searchTool(source) }] : []),
    { recipe: 'list', label: 'List', draft: listTool(source) },
    { recipe: 'count', label: 'Count', draft: countTool(source) },
    ...(date === undefined ? [] : [{ recipe: 'month', label: 'By month', draft: monthTool(source, date) }]),
    ...groupOffers(source),
  ];
}

/** Columns can have the same subject; their tools have different names. */
function groupOffers(source: Source): TableOffer[] {
  const names = new Set<string>();
  return named(source, groupsOf(source)).map(({ column, parameter }) => {
    const name = freeName(asciiName(subjectOf(column)) || parameter, names);
    names.add(name);
    return { recipe: `by_${parameter}`, label: `By ${subjectOf(column)}`, draft: groupTool(source, column, name) };
  });
}

/** Keys of ClickHouse are not unique. */
function readTool(source: Source): TableDraft {
  const keys = named(source, keysOf(source.columns));
  const one = singular(tableWords(source));
  const is_unique = source.dialect !== 'clickhouse';
  const from = fromTables(source);
  return draft(source, `get_${asciiName(one) || 'row'}`, `Read ${article(one)}`, {
    description: `${is_unique ? 'One row' : 'Rows'} of ${tableWords(source)} by ${list(keys.map(readable), 'and')}.`,
    sql: [`select ${columnList(source, from)}`, ...from.lines, `where ${keys.map((key) => equals(from, key)).join('\n  and ')}`],
    parameters: keys.map((key) => ({ ...parameterOf(key, `${capital(readable(key))} of the ${one}`), required: true })),
    return_type: is_unique ? 'row' : 'rows',
  });
}

function listTool(source: Source): TableDraft {
  const filters = filtersOf(source, [LIMIT.name, OFFSET.name]);
  const from = fromTables(source);
  return draft(source, `list_${tableSlug(source)}`, `List ${tableWords(source)}`, {
    description: `${capital(tableWords(source))}, page by page${filteredBy(filters)}. Call again with a larger offset for more.`,
    sql: [
      `select ${columnList(source, from)}`,
      ...from.lines,
      ...conditions(from, filters),
      ...ordering(source, from),
      'limit :limit offset :offset',
    ],
    parameters: [...filters.map(optionalFilter), LIMIT, OFFSET],
    return_type: 'rows',
  });
}

function searchTool(source: Source): TableDraft {
  const texts = textsOf(source.columns);
  const from = fromTables(source);
  const match = texts.map((column) => contains(from.of(column), source.dialect));
  const words = texts.map((column) => readable({ column }));
  return draft(source, `search_${tableSlug(source)}`, `Search ${tableWords(source)}`, {
    description: `Finds ${tableWords(source)} by a part of ${list(words)}.`,
    sql: [
      `select ${columnList(source, from)}`,
      ...from.lines,
      `where ${match.length === 1 ? match[0] : `(${match.join('\n    or ')})`}`,
      ...ordering(source, from),
      'limit :limit',
    ],
    parameters: [
      { name: 'text', type: 'string', description: 'Part of the text to look for', required: true, max_length: 200 },
      LIMIT,
    ],
    return_type: 'rows',
  });
}

function countTool(source: Source): TableDraft {
  const filters = filtersOf(source, []);
  const from = fromTables(source, []);
  return draft(source, `count_${tableSlug(source)}`, `Count ${tableWords(source)}`, {
    description: `How many ${tableWords(source)} there are${filteredBy(filters)}.`,
    sql: [`select ${countOf(source)}`, ...from.lines, ...conditions(from, filters)],
    parameters: filters.map(optionalFilter),
    return_type: 'row',
  });
}

function monthTool(source: Source, date: TableColumn): TableDraft {
  const from = fromTables(source, []);
  const month = MONTHS[source.dialect](from.of(date));
  const filters = filtersOf(source, [FROM_DATE, BEFORE_DATE], date);
  const without = date.nullable || source.dialect === 'sqlite' ? ' Month is null for rows without a date.' : '';
  return draft(source, `${verbOf(source)}_${tableSlug(source)}_by_month`, `${capital(tableWords(source))} by month`, {
    description: `How many ${tableWords(source)} there are in each month of ${readable({ column: date })}${sumsInWords(source)}.${without}`,
    sql: [
      `select ${outputs(source, [[month, 'month'], ...totals(source, from)]).join(', ')}`,
      ...from.lines,
      ...conditions(from, filters, between(source, from, date)),
      `group by ${month}`,
      `order by ${month}`,
    ],
    parameters: [...filters.map(optionalFilter), ...daysOf(date)],
    return_type: 'rows',
  });
}

function groupTool(source: Source, group: TableColumn, name: string): TableDraft {
  const from = fromTables(source, source.labels?.filter(({ column }) => column === group.name) ?? []);
  const date = dateOf(source);
  const filters = filtersOf(source, [LIMIT.name, FROM_DATE, BEFORE_DATE], group);
  const subject = subjectOf(group);
  const label = from.label(group);
  return draft(source, `${verbOf(source)}_${tableSlug(source)}_by_${name}`, `${capital(tableWords(source))} by ${subject}`, {
    description: `How many ${tableWords(source)} there are for each ${subject}${sumsInWords(source)}, the most first.`,
    sql: [
      `select ${[...from.selected(group), ...outputs(source, totals(source, from))].join(', ')}`,
      ...from.lines,
      ...conditions(from, filters, date === undefined || date === group ? [] : between(source, from, date)),
      `group by ${[from.of(group), ...(label === undefined ? [] : [label])].join(', ')}`,
      `order by count(*) desc, ${from.of(group)}`,
      'limit :limit',
    ],
    parameters: [...filters.map(optionalFilter), ...(date === undefined || date === group ? [] : daysOf(date)), LIMIT],
    return_type: 'rows',
  });
}

const verbOf = (source: Source): string => (sumsOf(source).length === 0 ? 'count' : 'sum');

/** The count of rows and the sums of amounts, each with its name. */
const totals = (source: Source, from: From): [string, string][] => [
  ['count(*)', 'row_count'],
  ...sumsOf(source).map((column): [string, string] => [
    sumOf(from.of(column), column, source.dialect),
    `sum_${asciiName(column.name) || 'amount'}`,
  ]),
];

const sumsInWords = (source: Source): string => {
  const sums = sumsOf(source).map((column) => readable({ column }));
  return sums.length === 0 ? '' : `, with the ${sums.length === 1 ? 'sum' : 'sums'} of ${list(sums, 'and')}`;
};

const FROM_DATE = 'from_date';
const BEFORE_DATE = 'before_date';

function between(source: Source, from: From, date: TableColumn): string[] {
  const day = dayOf(from.of(date), source.dialect);
  return [`${day} >= :${FROM_DATE}`, `${day} < :${BEFORE_DATE}`];
}

const daysOf = (column: TableColumn): Parameter[] => [
  { name: FROM_DATE, type: 'date', description: `Only with ${readable({ column })} on or after this day`, required: false },
  { name: BEFORE_DATE, type: 'date', description: `Only with ${readable({ column })} before this day`, required: false },
];

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

const filteredBy = (filters: readonly Named[]): string =>
  filters.length === 0 ? '' : `, optionally only those of one ${list(filters.map(readable))}`;
