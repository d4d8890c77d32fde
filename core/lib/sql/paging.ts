import type { Column, Json } from './result.ts';
import type { SqlDialect } from './dialect.ts';
import type { PageKey } from './page-keys.ts';
import type { SqlNode, Statement } from './statement.ts';

/** A column that orders pages, with the database's description of it. */
export interface PageColumn extends Pick<Column, 'type' | 'kind'> {
  readonly column: string;
  readonly desc: boolean;
}

/** Statements that return one page. */
export interface Paging {
  /** All rows in order, from the first one or after a position. */
  readonly statement: Statement;
  /**
   * The same rows in two parts, so that an index on the first column can be used: first the rows with a value in it, then those
   * without. The first part alone is the page when it fills it. `plain` is the first part in the order of an index on all
   * columns. It is the page unless one of its rows has a null in a later column: such rows are misplaced, but never beyond the
   * end of the page, so none is missed.
   */
  readonly parts: { readonly plain: Statement | null; readonly values: Statement; readonly nulls: Statement };
  /** True when an index on the first column can answer the first page in one part. */
  readonly begins_whole: boolean;
  /** The cells of a row that start the next page, by the names under which they are bound. */
  readonly keys: readonly PagePosition[];
}

interface PagePosition {
  readonly column: string;
  readonly name: string;
  readonly write: (cell: Json) => Json;
  /** The type in which its cells are compared. Null: result types differ from the described ones. */
  readonly type: string | null;
}

/** No parameter can have such a name. */
const nameOf = (index: number): string => `page.${index}`;

interface Key {
  readonly key: PageKey;
  readonly column: string;
  readonly desc: boolean;
  readonly node: SqlNode & object;
}

const compared = ({ key, node }: Key, operator: string): readonly SqlNode[] =>
  key.compare?.(operator, node) ?? [`${key.by} ${operator} `, ...key.value(node)];

/**
 * Wraps the statement in one that orders its rows and begins after the previous page. Nulls come last in either direction. Null:
 * one of the columns cannot be ordered. @param rows one more than the page size, to detect a next page.
 */
export function pagingOf(
  statement: Statement,
  { pages }: SqlDialect,
  columns: readonly PageColumn[],
  rows: number,
): Paging | null {
  if (pages === null) return null;
  const keys: Key[] = [];
  for (const [index, { column, desc, ...its }] of columns.entries()) {
    const key = pages.key(`page.${pages.quote(column)}`, its);
    if (key === null) return null;
    keys.push({ key, column, desc, node: { name: nameOf(index) } });
  }
  const names = keys.map((_, index) => nameOf(index));
  const isSame = (key: Key): readonly SqlNode[] => compared(key, pages.same);
  const isAfter = (key: Key): SqlNode[] => [
    '(',
    ...compared(key, key.desc ? '<' : '>'),
    ` OR ${key.key.by} IS NULL AND `,
    ...key.key.value(key.node),
    ' IS NOT NULL)',
  ];
  /** Rows after the position in the order of some keys, with all earlier keys equal. */
  const behind = (some: readonly Key[], after: (key: Key, index: number) => readonly SqlNode[]): SqlNode[] =>
    some.flatMap((key, index): SqlNode[] => [
      index === 0 ? '(' : ' OR (',
      ...some.slice(0, index).flatMap((before): SqlNode[] => [...isSame(before), ' AND ']),
      ...after(key, index),
      ')',
    ]);
  const orderOf = (some: readonly Key[]): string[] =>
    some.map(({ key, desc }) => {
      const order = `${key.by}${desc ? ' DESC' : ''}`;
      return pages.nulls_last ? `${order} NULLS LAST` : `${key.by} IS NULL, ${order}`;
    });
  const types = Object.fromEntries(keys.map(({ key }, index) => [nameOf(index), key.bound]));
  const within = (where: readonly SqlNode[], order: readonly string[]): Statement => ({
    ...statement,
    nodes: [
      'SELECT * FROM (\n',
      ...statement.nodes,
      '\n) AS page ',
      ...where,
      `${order.length === 0 ? '' : ` ORDER BY ${order.join(', ')}`} LIMIT ${rows}`,
    ],
    names: [...statement.names, ...names],
    types: { ...statement.types, ...types },
  });
  const [first] = keys;
  if (first === undefined) return null;
  const rest = keys.slice(1);
  const by = first.key.by;
  const isBehind = compared(first, first.desc ? '<' : '>');
  // Repeated for the first column alone, so that an index range can begin there.
  const from: SqlNode[] = [...compared(first, first.desc ? '<=' : '>='), ' AND ('];
  const values: SqlNode & object = {
    block: [' AND ', ...from, ...behind(keys, (key, index) => (index === 0 ? isBehind : isAfter(key))), ')'],
    names,
  };
  const with_value = [`WHERE ${by} IS NOT NULL`, values];
  const plainOrder = (some: readonly Key[]): string[] => some.map(({ key, desc }) => `${key.by}${desc ? ' DESC' : ''}`);
  const nulls: SqlNode[] = rest.length === 0 ? [] : [{ block: [' AND (', ...behind(rest, isAfter), ')'], names: names.slice(1) }];
  return {
    statement: within([{ block: ['WHERE ', ...behind(keys, isAfter)], names }], orderOf(keys)),
    parts: {
      plain: rest.length === 0 ? null : within(with_value, plainOrder(keys)),
      values: within(with_value, [...plainOrder([first]), ...orderOf(rest)]),
      nulls: within([`WHERE ${by} IS NULL`, ...nulls], orderOf(rest)),
    },
    begins_whole: pages.nulls_last && !first.desc,
    keys: keys.map(({ key, column }, index) => ({
      column,
      name: nameOf(index),
      write: key.write,
      type: pages.same_types === true ? (columns[index]?.type ?? null) : null,
    })),
  };
}
