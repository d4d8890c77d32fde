import type { SqlDialect } from './dialect.ts';
import type { Statement, SqlNode } from './statement.ts';
import { type Token, tokenize } from './tokenize.ts';
import { AppError } from '#core/errors.ts';

export interface StatementTokens {
  readonly sql: string;
  /** Without spaces and comments; empty when the grammar cannot read the text. */
  readonly tokens: readonly Token[];
}

/** Writes a parsed statement as one text, with or without its optional blocks. */
export function statementTokens(nodes: readonly SqlNode[], dialect: SqlDialect, blocks = true): StatementTokens {
  const sql = textOf(nodes, blocks);
  try {
    return { sql, tokens: tokenize(sql, dialect).filter(({ kind }) => kind !== 'space' && kind !== 'comment') };
  } catch (error) {
    if (error instanceof AppError) return { sql, tokens: [] };
    throw error;
  }
}

const textOf = (nodes: readonly SqlNode[], blocks: boolean): string =>
  nodes
    .map((node) => {
      if (typeof node === 'string') return node;
      if ('block' in node) return blocks ? textOf(node.block, true) : '';
      return `:${node.name}`;
    })
    .join('');

/** Whether the statement itself has an ORDER BY; one in a subquery or a window does not count. */
export function isOrdered({ nodes }: Pick<Statement, 'nodes'>, dialect: SqlDialect): boolean {
  const { sql, tokens } = statementTokens(nodes, dialect);
  let depth = 0;
  let before = '';
  for (const { kind, start, end } of tokens) {
    const text = sql.slice(start, end).toLowerCase();
    if (text === '(') depth++;
    if (text === ')') depth--;
    if (depth === 0 && kind === 'word' && text === 'by' && before === 'order') return true;
    before = kind === 'word' ? text : '';
  }
  return false;
}
