/** The value of a JSON text; undefined for any other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The line of the first JSON syntax error; null: the text is valid. Browser messages differ, and some lack the position. */
export function jsonFaultLine(text: string): number | null {
  const at = faultIndex(text);
  return at === null ? null : text.slice(0, at).split('\n').length;
}

const SPACE = /[ \t\r\n]*/y;
const PLAIN = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null)(?![\w.])/y;
const PIECE = /[^"\\\p{Cc}]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))?/uy;

/** The tokens that may come next. */
type Next = 'value' | 'value or end' | 'key' | 'key or end' | 'colon' | 'comma or end';

function faultIndex(text: string): number | null {
  const open: string[] = [];
  let next: Next = 'value';
  let at = 0;
  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const found = pattern.test(text) && pattern.lastIndex > at;
    if (found) at = pattern.lastIndex;
    return found;
  };
  for (;;) {
    skip(SPACE);
    const sign = text[at];
    if (sign === undefined) return open.length === 0 && next === 'comma or end' ? null : at;
    const began = at;
    const inside = open.at(-1);
    if ((sign === ']' || sign === '}') && next.endsWith('or end') && inside === (sign === ']' ? '[' : '{')) {
      open.pop();
      next = 'comma or end';
      at++;
    } else if (sign === ',' && next === 'comma or end' && inside !== undefined) {
      next = inside === '[' ? 'value' : 'key';
      at++;
    } else if (sign === ':' && next === 'colon') {
      next = 'value';
      at++;
    } else if (sign === '"' && next !== 'colon' && next !== 'comma or end') {
      at++;
      while (skip(PIECE));
      if (text[at] !== '"') return at;
      at++;
      next = next.startsWith('key') ? 'colon' : 'comma or end';
    } else if (!next.startsWith('value')) return began;
    else if (sign === '{' || sign === '[') {
      open.push(sign);
      next = sign === '{' ? 'key or end' : 'value or end';
      at++;
    } else if (skip(PLAIN)) next = 'comma or end';
    else return began;
  }
}
