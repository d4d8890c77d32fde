import type { Column, Json } from '#core/engines/shared/source.ts';
import type { SqlDialect } from './dialect.ts';
import type { PageKey } from './page-keys.ts';
import type { SqlNode, Statement } from './statement.ts';

/** A column that orders pages, with what the database said of it. */
export interface PageColumn extends Pick<Column, 'type' | 'kind'> {
  readonly column: string;
  readonly desc: boolean;
}

/** A statement that answers one page. */
export interface Paging {
  readonly statement: Statement;
  /** The cells of a row that say where the next page begins, by the names under which they are bound. */
  readonly keys: readonly { readonly column: string; readonly name: string; readonly write: (cell: Json) => Json }[];
}

/** No parameter can have such a name. */
const nameOf = (index: number): string => `page.${index}`;

/**
 * The statement within one that orders its rows and begins behind those of the page before. Nulls come last, whichever way a
 * column is ordered. Null: a column of it has no order.
 * @param rows one more than a page has: it says whether anything follows.
 */
export function pagingOf(
  statement: Statement,
  { pages }: SqlDialect,
  columns: readonly PageColumn[],
  rows: number,
): Paging | null {
  if (pages === null) return null;
  const keys: { readonly key: PageKey; readonly column: string; readonly desc: boolean; readonly node: SqlNode & object }[] = [];
  for (const [index, { column, desc, ...its }] of columns.entries()) {
    const key = pages.key(`page.${pages.quote(column)}`, its);
    if (key === null) return null;
    keys.push({ key, column, desc, node: { name: nameOf(index) } });
  }
  const names = keys.map((_, index) => nameOf(index));
  const isSame = ({ key, node }: (typeof keys)[number]): SqlNode[] => [`${key.by} ${pages.same} `, ...key.value(node)];
  const isAfter = ({ key, desc, node }: (typeof keys)[number]): SqlNode[] => [
    `(${key.by} ${desc ? '<' : '>'} `,
    ...key.value(node),
    ` OR ${key.by} IS NULL AND `,
    ...key.value(node),
    ' IS NOT NULL)',
  ];
  const branches = keys.map((key, index): SqlNode[] => [
    index === 0 ? '(' : ' OR (',
    ...keys.slice(0, index).flatMap((before): SqlNode[] => [...isSame(before), ' AND ']),
    ...isAfter(key),
    ')',
  ]);
  const order = keys
    .map(({ key, desc }) => {
      const by = `${key.by}${desc ? ' DESC' : ''}`;
      return pages.nulls_last ? `${by} NULLS LAST` : `${key.by} IS NULL, ${by}`;
    })
    .join(', ');
  return {
    statement: {
      ...statement,
      nodes: [
        'SELECT * FROM (\n',
        ...statement.nodes,
        '\n) AS page ',
        { block: ['WHERE ', ...branches.flat()], names },
        ` ORDER BY ${order} LIMIT ${rows}`,
      ],
      names: [...statement.names, ...names],
      types: { ...statement.types, ...Object.fromEntries(keys.map(({ key }, index) => [nameOf(index), key.bound])) },
    },
    keys: keys.map(({ key, column }, index) => ({ column, name: nameOf(index), write: key.write })),
  };
}
