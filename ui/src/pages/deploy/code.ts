import type { Output } from '#core/contract/index.ts';

type GeneratedFile = Output<'server.generated'>['files'][number];

/** A folder of the generated project with the files that lie directly in it. */
interface Folder {
  /** Empty: the top. */
  readonly path: string;
  readonly files: readonly { readonly path: string; readonly name: string }[];
}

/** The top first, then the folders by their names. */
export function toFolders(files: readonly { readonly path: string }[]): Folder[] {
  const folders = new Map<string, { path: string; name: string }[]>();
  for (const { path } of files.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    const cut = path.lastIndexOf('/');
    const folder = cut === -1 ? '' : path.slice(0, cut);
    const list = folders.get(folder) ?? [];
    list.push({ path, name: path.slice(cut + 1) });
    folders.set(folder, list);
  }
  return [...folders].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([path, list]) => ({ path, files: list }));
}

type TokenKind = 'plain' | 'comment' | 'string' | 'number' | 'keyword';
interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

const KEYWORDS = new Set(
  'as async await break case catch class const continue default delete else export extends false finally for from function if implements import in instanceof interface let new null of readonly return satisfies switch this throw true try type typeof undefined void while yield'.split(
    ' ',
  ),
);
/** Comments, strings (a template literal as one), numbers, words; anything else is taken character by character. */
const LEXEME =
  /(\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^'\\\n]|\\.)*'?|"(?:[^"\\\n]|\\.)*"?|`(?:[^`\\]|\\[\s\S])*`?)|(\b\d[\d_.]*n?\b)|([A-Za-z_$][\w$]*)|([\s\S])/g;

/** TypeScript or JSON in pieces to colour; the texts of all pieces together are the code. */
export function highlight(code: string): Token[] {
  const tokens: { kind: TokenKind; text: string }[] = [];
  for (const match of code.matchAll(LEXEME)) {
    const [text, comment, string, number, word] = match;
    const kind: TokenKind =
      comment === undefined
        ? string === undefined
          ? number === undefined
            ? word !== undefined && KEYWORDS.has(word)
              ? 'keyword'
              : 'plain'
            : 'number'
          : 'string'
        : 'comment';
    const last = tokens.at(-1);
    if (last !== undefined && last.kind === kind) last.text += text;
    else tokens.push({ kind, text });
  }
  return tokens;
}

/** What is coloured at most; a longer text is shown as it is. */
export const LONGEST_HIGHLIGHT = 100_000;
const HIGHLIGHTED = /\.(?:[cm]?[jt]sx?|json)$/;

export const tokensOf = ({ path, content }: GeneratedFile): Token[] =>
  HIGHLIGHTED.test(path) && content.length <= LONGEST_HIGHLIGHT ? highlight(content) : [{ kind: 'plain', text: content }];
