import { AppError } from '#core/errors.ts';
import type { SqlDialect } from './dialect.ts';
import type { SqlNode, Statement } from './statement.ts';
import { tokenize } from './tokenize.ts';

/** Whether a statement says itself in which order its rows come: an ORDER BY of a subquery or a window does not. */
export function isOrdered({ nodes }: Pick<Statement, 'nodes'>, dialect: SqlDialect): boolean {
  const sql = textOf(nodes);
  let depth = 0;
  let before = '';
  for (const { kind, start, end } of tokensOf(sql, dialect)) {
    if (kind === 'space' || kind === 'comment') continue;
    const text = sql.slice(start, end).toLowerCase();
    if (text === '(') depth++;
    if (text === ')') depth--;
    if (depth === 0 && kind === 'word' && text === 'by' && before === 'order') return true;
    before = kind === 'word' ? text : '';
  }
  return false;
}

function tokensOf(sql: string, dialect: SqlDialect): ReturnType<typeof tokenize> {
  try {
    return tokenize(sql, dialect);
  } catch (error) {
    if (error instanceof AppError) return [];
    throw error;
  }
}

const textOf = (nodes: readonly SqlNode[]): string =>
  nodes
    .map((node) => {
      if (typeof node === 'string') return node;
      return 'block' in node ? textOf(node.block) : `:${node.name}`;
    })
    .join('');
