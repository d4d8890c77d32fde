import { AppError } from '#core/errors.ts';
import type { SqlDialect } from './dialect.ts';
import type { SqlNode } from './statement.ts';
import { type Token, tokenize } from './tokenize.ts';

export interface StatementTokens {
  readonly sql: string;
  /** Without space and comments; none where the grammar does not read the text. */
  readonly tokens: readonly Token[];
}

/** A parsed statement as one text again, with or without its optional blocks. */
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
