import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import { isName, type Token, tokenize } from '#core/lib/sql/tokenize.ts';
import { AppError } from '#core/errors.ts';

/** A piece of a statement, with its nesting. */
export interface Piece {
  readonly kind: Token['kind'];
  /** In lower case. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** How many parentheses enclose it. */
  readonly depth: number;
  /** Whether it is in an optional block, or in other square brackets. */
  readonly in_block: boolean;
  readonly is_name: boolean;
}

/** The pieces of a statement without spaces, comments and the final semicolon; empty when it cannot be read. */
export function piecesOf(sql: string, dialect: SqlDialect): Piece[] {
  const pieces: Piece[] = [];
  let [depth, squares] = [0, 0];
  for (const token of tokensOf(sql, dialect)) {
    const { kind, start, end } = token;
    if (kind === 'space' || kind === 'comment') continue;
    if (kind === 'separator') break;
    const text = sql.slice(start, end).toLowerCase();
    if (text === ')') depth--;
    if (text === ']') squares--;
    pieces.push({ kind, text, start, end, depth, in_block: squares > 0, is_name: isName(sql, token) });
    if (text === '(') depth++;
    if (text === '[') squares++;
  }
  return pieces;
}

function tokensOf(sql: string, dialect: SqlDialect): readonly Token[] {
  try {
    return tokenize(sql, dialect);
  } catch (error) {
    if (error instanceof AppError) return [];
    throw error;
  }
}

/** The lists between SELECT and FROM, including those of a UNION. */
export function resultLists(pieces: readonly Piece[]): Piece[][] {
  const lists: Piece[][] = [];
  let open: Piece[] | null = null;
  for (const piece of pieces) {
    if (piece.depth === 0 && piece.kind === 'word' && piece.text === 'select') lists.push((open = []));
    else if (piece.depth === 0 && piece.kind === 'word' && ENDS.has(piece.text)) open = null;
    else open?.push(piece);
  }
  return lists;
}
const ENDS = new Set(['from', 'where', 'union', 'intersect', 'except', 'order', 'limit', 'into']);
