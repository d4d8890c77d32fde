import type { TableColumn } from '#core/contract/definitions/schema.ts';
import { type Mention, mentions } from '#core/lib/sql/mentions.ts';
import { quoteName } from './completion.ts';
import { type Dialect, scanSql, type SqlPiece } from './scan.ts';
import type { TableAddress } from './table-address.ts';

/** A column of a table that references a column of another one. */
export interface ForeignKey {
  readonly table: TableAddress;
  readonly column: string;
  readonly references: NonNullable<TableColumn['references']>;
}

/** A FROM with its joins. */
interface FromClause {
  readonly tables: readonly Mention[];
  readonly text: string;
  /** Offset behind its last piece. */
  readonly end: number;
}

/** Words that follow a FROM clause. */
const AFTER_FROM = new Set(
  `where prewhere group having window qualify order limit offset fetch for union intersect except returning settings format sample`.split(
    ' ',
  ),
);

/**
 * The statement with the other table of a foreign key joined to the one that it reads; undefined when it reads neither of them, or
 * both. @param nameOf how the statement names a table.
 */
export function withJoin(
  sql: string,
  { table, column, references }: ForeignKey,
  dialect: Dialect,
  nameOf: (table: TableAddress) => string,
): string | undefined {
  const pieces = scanSql(sql, dialect);
  if (
    !/^(?:select|with)$/i.test(
      textOf(
        sql,
        pieces.find(({ kind }) => kind === 'word'),
      ),
    )
  )
    return undefined;
  const child = { table, column };
  const parent = { table: { schema: references.schema, name: references.table }, column: references.column };
  const is_self = isSame(child.table.name, parent.table.name) && child.table.schema === parent.table.schema;
  for (const clause of fromClauses(sql, pieces)) {
    const [read_child, read_parent] = [mentionOf(child.table, clause), mentionOf(parent.table, clause)];
    if (!is_self && read_child !== undefined && read_parent !== undefined) return undefined;
    const [read, read_column, joined] =
      read_child === undefined ? ([read_parent, parent.column, child] as const) : ([read_child, child.column, parent] as const);
    if (read === undefined) continue;
    const alias = freeAlias(joined.table.name, clause);
    const name = nameOf(joined.table);
    const named = alias === joined.table.name ? name : `${name} as ${quoteName(alias, dialect)}`;
    const to = `${quoteName(alias, dialect)}.${quoteName(joined.column, dialect)}`;
    const condition = `${to} = ${aliasIn(clause, read, dialect)}.${quoteName(read_column, dialect)}`;
    return `${sql.slice(0, clause.end)}\njoin ${named} on ${condition}${sql.slice(clause.end)}`;
  }
  return undefined;
}

/** How a statement names a column of a table: behind the alias where it reads several tables. */
export function columnIn(sql: string, table: TableAddress, column: string, dialect: Dialect): string {
  const name = quoteName(column, dialect);
  const clauses = fromClauses(sql, scanSql(sql, dialect));
  for (const clause of clauses) {
    const read = mentionOf(table, clause);
    if (read !== undefined) return clause.tables.length > 1 ? `${aliasIn(clause, read, dialect)}.${name}` : name;
  }
  return name;
}

/** The innermost come first. */
function fromClauses(sql: string, pieces: readonly SqlPiece[]): FromClause[] {
  const found: FromClause[] = [];
  for (const [index, piece] of pieces.entries()) {
    if (piece.kind !== 'word' || textOf(sql, piece) !== 'from') continue;
    let depth = 0;
    const inside: SqlPiece[] = [];
    for (const next of pieces.slice(index + 1)) {
      const text = textOf(sql, next);
      if (next.kind === 'mark' && text === '(') depth += 1;
      if (next.kind === 'mark' && text === ')') depth -= 1;
      const is_end =
        next.kind === 'separator' || sql.startsWith('[[', next.start) || (next.kind === 'word' && AFTER_FROM.has(text));
      if (depth < 0 || (depth === 0 && is_end)) break;
      inside.push(next);
    }
    const end = inside.findLast(({ kind }) => kind !== 'comment')?.end;
    if (end === undefined) continue;
    found.unshift({ tables: mentions(sql, [piece, ...inside]), text: sql.slice(piece.start, end), end });
  }
  return found;
}

const textOf = (sql: string, piece: SqlPiece | undefined): string =>
  piece === undefined ? '' : sql.slice(piece.start, piece.end).toLowerCase();

const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

const mentionOf = ({ schema, name }: TableAddress, { tables }: FromClause): Mention | undefined =>
  tables.find((one) => isSame(one.table, name) && (one.schema === null || isSame(one.schema, schema ?? '')));

/** An alias as the author wrote it: quoted or not. */
const aliasIn = ({ text }: FromClause, { alias }: Mention, dialect: Dialect): string =>
  text.includes(`"${alias}"`) || !/^[\w$]+$/.test(alias) ? quoteName(alias, dialect) : alias;

function freeAlias(name: string, { tables }: FromClause): string {
  const isTaken = (alias: string) => tables.some((one) => isSame(one.alias, alias));
  let alias = name;
  for (let n = 2; isTaken(alias); n++) alias = `${name}_${n}`;
  return alias;
}
