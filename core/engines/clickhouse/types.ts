/** A column type of the server as a tree, such as `Array(Nullable(Decimal(10, 2)))`. */
export interface ClickhouseType {
  readonly name: string;
  readonly of: readonly ClickhouseType[];
  /** Names of the elements of a named tuple. */
  readonly names: readonly string[];
  /** The text in parentheses of a type without inner types. */
  readonly text: string;
}

const HOLDS_TYPES: ReadonlySet<string> = new Set(['Nullable', 'LowCardinality', 'Array', 'Tuple', 'Map', 'Nested', 'Variant']);
/** More deeply nested types count as unknown. */
const MAX_DEPTH = 32;

/** Never throws: a text that it cannot read becomes a type without a rule. */
export function parseType(text: string, depth = 0): ClickhouseType {
  const [, name = text, inner = ''] = /^\s*(\w+)\(([\s\S]*)\)\s*$/.exec(text) ?? [];
  if (name === 'SimpleAggregateFunction') return parseType(parts(inner)[1] ?? 'String', depth + 1);
  if (!HOLDS_TYPES.has(name) || depth > MAX_DEPTH) return { name: name.trim(), of: [], names: [], text: inner };
  const each = parts(inner).map((part) => {
    const [, quote, quoted, word, rest] = /^(?:([`"])((?:[^`"\\]|\\.)*)\1|(\w+))\s+(\w[\s\S]*)$/.exec(part) ?? [];
    const named = name === 'Tuple' || name === 'Nested' ? (quote === undefined ? word : quoted) : undefined;
    return { name: named, type: parseType(named === undefined ? part : (rest ?? ''), depth + 1) };
  });
  const names = each.flatMap((part) => (part.name === undefined ? [] : [part.name]));
  const found = { name, of: each.map(({ type }) => type), names: names.length === each.length ? names : [], text: inner };
  return name === 'Nested' ? { name: 'Array', of: [{ ...found, name: 'Tuple' }], names: [], text: inner } : found;
}

/** Splits at commas outside parentheses and quotes. */
function parts(text: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let from = 0;
  let quote = '';
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    if (quote !== '') {
      if (char === '\\') i++;
      else if (char === quote) quote = '';
    } else if (char === "'" || char === '`' || char === '"') quote = char;
    else if (char === '(') depth++;
    else if (char === ')') depth--;
    else if (char === ',' && depth === 0) {
      found.push(text.slice(from, i).trim());
      from = i + 1;
    }
  }
  const last = text.slice(from).trim();
  return last === '' ? found : [...found, last];
}

/** Removes Nullable and LowCardinality, which do not change values. */
export function bare(type: ClickhouseType): ClickhouseType {
  const [inner] = type.of;
  return (type.name === 'Nullable' || type.name === 'LowCardinality') && inner !== undefined ? bare(inner) : type;
}

export const isNullable = (type: ClickhouseType): boolean =>
  type.name === 'Nullable' || (type.name === 'LowCardinality' && type.of.some(isNullable));

/** The words of an Enum. */
export const wordsOf = (type: ClickhouseType): string[] =>
  parts(type.text).flatMap((part) => {
    const word = /^'((?:[^'\\]|\\.)*)'/.exec(part)?.[1];
    return word === undefined ? [] : [word.replaceAll(/\\(.)/g, '$1')];
  });
