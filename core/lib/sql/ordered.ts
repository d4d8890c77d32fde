import type { SqlDialect } from './dialect.ts';
import type { Statement } from './statement.ts';
import { statementTokens } from './statement-tokens.ts';

/** Whether a statement says itself in which order its rows come: an ORDER BY of a subquery or a window does not. */
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
