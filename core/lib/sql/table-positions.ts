import type { Lexeme } from './tokenize.ts';
import { words } from './rules.ts';

const QUERIES = words('select with from explain');
/** Behind them no further table follows. A condition of a join is followed by commas and tables all the same. */
const ENDS_TABLES = words(
  'select where prewhere group order having limit offset union except intersect settings format window qualify array',
);
const BEFORE = words('from join , (');

interface Level {
  /** It is a query, and not the arguments of a function, where `from` parts them too. */
  query: boolean;
  /** A table may stand here. */
  tables: boolean;
}

/** Where the name of a table, a function in its place or a text that is taken for one can begin. */
export function tablePlaces(tokens: readonly Lexeme[]): Set<number> {
  const places = new Set<number>();
  const levels: Level[] = [{ query: true, tables: false }];
  for (const [i, { kind, text }] of tokens.entries()) {
    const level = levels.at(-1)!;
    const before = tokens[i - 1]?.text ?? '';
    const first = tokens[i + 1];
    if (text === '(' || text === '[') {
      // A bracket where a table may stand holds a query, or tables in brackets.
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
