import type { Lexeme } from './tokenize.ts';
import { words } from './rules.ts';

const QUERIES = words('select with from explain');
/** Words after which no table follows. A join condition is not among them, because commas and tables can follow it. */
const ENDS_TABLES = words(
  'select where prewhere group order having limit offset union except intersect settings format window qualify array',
);
const BEFORE = words('from join , (');

interface Level {
  /** True for a query; false for arguments of a function, which can contain `from` too. */
  query: boolean;
  /** True when a table is expected here. */
  tables: boolean;
}

/** Positions where a table name, a table function or a string read as a table can begin. */
export function tablePositions(tokens: readonly Lexeme[]): Set<number> {
  const places = new Set<number>();
  const levels: Level[] = [{ query: true, tables: false }];
  for (const [i, { kind, text }] of tokens.entries()) {
    const level = levels.at(-1)!;
    const before = tokens[i - 1]?.text ?? '';
    const first = tokens[i + 1];
    if (text === '(' || text === '[') {
      // Where a table is expected, a parenthesis contains a query or tables.
      const tables = level.tables && BEFORE.has(before);
      levels.push({ query: tables || (first?.kind === 'word' && QUERIES.has(first.text)), tables });
    } else if (text === ')' || text === ']') {
      if (levels.length > 1) levels.pop();
    } else {
      if (level.tables && BEFORE.has(before) && !(kind === 'word' && QUERIES.has(text))) places.add(i);
      if (kind !== 'word' || before === '.') continue;
      if (text === 'select') level.query = true;
      if (text === 'from' || text === 'join') level.tables = level.query && before !== 'array';
      else if (ENDS_TABLES.has(text)) level.tables = false;
    }
  }
  return places;
}
