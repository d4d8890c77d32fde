/** Texts, quoted names and comments. An unclosed one extends to the end. */
const SKIPPED = `'[^']*(?:'|$)|"[^"]*(?:"|$)|\`[^\`]*(?:\`|$)|\\[[^\\]]*(?:\\]|$)|--[^\\n]*|/\\*(?:[\\s\\S]*?\\*/|[\\s\\S]*$)`;
const PIECES = new RegExp(`${SKIPPED}|[(),]|\\bwhere\\b`, 'gi');

/** The parts between commas that are in no brackets, quotes or comments. */
export function listParts(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (const { 0: piece, index } of text.matchAll(PIECES)) {
    if (piece === '(') depth++;
    else if (piece === ')') depth--;
    else if (piece === ',' && depth === 0) {
      parts.push(text.slice(from, index));
      from = index + 1;
    }
  }
  return [...parts, text.slice(from)].map(plainName).filter((part) => part !== '');
}

/** The columns and expressions of a CREATE INDEX, and the condition of a partial index. */
export function readIndex(create: string): { columns: string[]; condition: string | null } {
  let depth = 0;
  let list: { from: number; to: number } | undefined;
  for (const { 0: piece, index } of create.matchAll(PIECES)) {
    if (piece === '(' && depth++ === 0) list ??= { from: index + 1, to: create.length };
    else if (piece === ')' && --depth === 0 && list?.to === create.length) list.to = index;
    else if (piece.toLowerCase() === 'where' && depth === 0 && list !== undefined)
      return { columns: listParts(create.slice(list.from, list.to)), condition: withoutEnd(create.slice(index + piece.length)) };
  }
  return { columns: list === undefined ? [] : listParts(create.slice(list.from, list.to)), condition: null };
}

const withoutEnd = (text: string): string => text.trim().replace(/;$/, '').trimEnd();

/** A name without its quotes, an expression without the brackets around all of it. */
function plainName(text: string): string {
  const part = text.trim();
  if (/^"(?:[^"]|"")+"$/.test(part)) return part.slice(1, -1).replaceAll('""', '"');
  const inner = /^\(([^()'"]*(?:\([^()'"]*\)[^()'"]*)*)\)$/.exec(part)?.[1];
  return inner === undefined ? part : plainName(inner);
}
