/** The words of the template language; a test compares them with what the server knows. */
export const TEMPLATE_TAGS = [
  'if',
  'elif',
  'else',
  'endif',
  'for',
  'endfor',
  'set',
  'endset',
  'filter',
  'endfilter',
  'raw',
  'endraw',
  'verbatim',
  'endverbatim',
] as const;

export const TEMPLATE_FUNCTIONS = ['range', 'dict', 'namespace'] as const;

export const TEMPLATE_FILTERS =
  `abs batch capitalize center count csv d date default dictsort dump e escape filesizeformat first float forceescape format format_number
   groupby indent int items join last length list lower map markdown_table max min nl2br reject rejectattr replace reverse round safe select
   selectattr slice sort strftime string striptags sum title tojson trim truncate unique upper urlencode wordcount wordwrap`.split(
    /\s+/,
  );

/** Where a template is written: between the signs, or in the text around them. */
interface TemplatePoint {
  readonly kind: 'text' | 'filter' | 'member' | 'tag' | 'value';
  readonly from: number;
  /** The name before the dot of a member. */
  readonly of?: string;
}

/** What to complete at the cursor. */
export function templatePointAt(text: string, cursor: number): TemplatePoint {
  const before = text.slice(0, cursor);
  const opened = Math.max(before.lastIndexOf('{{'), before.lastIndexOf('{%'));
  const word = /\w*$/.exec(before)?.[0] ?? '';
  const from = cursor - word.length;
  if (opened < 0 || before.indexOf('}}', opened) >= 0 || before.indexOf('%}', opened) >= 0) return { kind: 'text', from };
  const inside = before.slice(opened + 2, from);
  if (quotes(inside)) return { kind: 'text', from };
  if (before.startsWith('{%', opened) && /^-?\s*$/.test(inside)) return { kind: 'tag', from };
  if (/\|\s*$/.test(inside)) return { kind: 'filter', from };
  const member = /([A-Za-z_]\w*(?:\[\d+\])?)\.$/.exec(inside);
  if (member !== null) return { kind: 'member', from, of: member[1] ?? '' };
  return { kind: 'value', from };
}

/** Whether a text ends inside a string. */
function quotes(text: string): boolean {
  let open = '';
  for (let i = 0; i < text.length; i++) {
    const char = text[i] ?? '';
    if (open !== '' && char === '\\') i++;
    else if (open === char) open = '';
    else if (open === '' && (char === '"' || char === "'")) open = char;
  }
  return open !== '';
}

/** Names that loops and assignments bring, with what they go through: `for row in rows`. */
export function templateNames(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [, names = '', source = ''] of text.matchAll(/\{%-?\s*for\s+([\w\s,]+?)\s+in\s+([\w.]+)/g)) {
    for (const name of names.split(',')) found.set(name.trim(), source);
  }
  for (const [, name = ''] of text.matchAll(/\{%-?\s*set\s+(\w+)/g)) if (!found.has(name)) found.set(name, '');
  return found;
}

/** The line that a sentence of the server names (`line 3`, `line 3, column 5`), as offsets of the text. */
export function rangeInText(sentence: string, text: string): { readonly start: number; readonly end: number } | undefined {
  const named = /\bline (\d+)(?:,? column (\d+))?/i.exec(sentence);
  if (named === null) return undefined;
  const lines = text.split('\n');
  const line = Number(named[1]) - 1;
  const content = lines[line];
  if (content === undefined) return undefined;
  const start = lines.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0);
  if (named[2] === undefined)
    return { start: start + (content.length - content.trimStart().length), end: start + content.length };
  const at = Math.min(start + Number(named[2]) - 1, start + content.length);
  return { start: at, end: endOfWord(text, at) };
}

/** Where the word that begins at an offset ends, so that all of it can be underlined. */
export function endOfWord(text: string, at: number): number {
  const word = /^[\w$\u0080-\uffff]+/.exec(text.slice(at))?.[0] ?? '';
  return at + Math.max(1, word.length);
}
