/** A token of a statement, from any scanner. */
export interface Piece {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
}

/** A table that a statement names, with the alias of its columns. */
export interface Mention {
  readonly schema: string | null;
  readonly table: string;
  readonly alias: string;
}

/** Words that precede a table. */
export const BEFORE_TABLE: ReadonlySet<string> = new Set(['from', 'join', 'update', 'into', 'using']);
const NO_ALIAS = new Set(
  `where join on left right inner outer full cross natural group order having limit union intersect except set values as using returning
   offset fetch window for lateral select`.split(/\s+/),
);

/** The tables of a statement, which may be incomplete while it is being written. */
export function mentions(sql: string, pieces: readonly Piece[]): Mention[] {
  // Some scanners return dots and commas as pieces, others do not.
  const words = pieces.filter(
    ({ kind, start, end }) => kind !== 'comment' && kind !== 'space' && !/^[.,]$/.test(sql.slice(start, end)),
  );
  const text = (at: number) => {
    const piece = words[at];
    return piece === undefined ? '' : sql.slice(piece.start, piece.end);
  };
  const isPlain = (at: number) => words[at]?.kind === 'word' || words[at]?.kind === 'identifier';
  /** The text between a piece and the next one. */
  const behind = (at: number) => sql.slice(words[at]?.end ?? 0, words[at + 1]?.start ?? sql.length).trim();
  const found: Mention[] = [];
  for (let at = 0; at < words.length; at++) {
    if (!BEFORE_TABLE.has(text(at).toLowerCase())) continue;
    for (let next = at + 1; isPlain(next);) {
      const parts = [unquoted(text(next))];
      while (isPlain(next + 1) && behind(next) === '.') {
        next += 1;
        parts.push(unquoted(text(next)));
      }
      const table = parts.at(-1) ?? '';
      const schema = parts.length > 1 ? (parts.at(-2) ?? null) : null;
      const alias = text(next + 1).toLowerCase() === 'as' ? next + 2 : next + 1;
      const named = isPlain(alias) && behind(alias - 1) === '' && !NO_ALIAS.has(text(alias).toLowerCase());
      found.push({ schema, table, alias: named ? unquoted(text(alias)) : table });
      const last = named ? alias : next;
      if (behind(last) !== ',') break;
      next = last + 1;
    }
  }
  return found;
}

export const unquoted = (word: string): string => (/^["`[]/.test(word) ? word.slice(1, -1).replaceAll('""', '"') : word);
