import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** They are no terms of the field, and each of them had several meanings in this code. */
const WORDS = [
  'asked',
  'heard',
  'judged',
  'kept',
  'made',
  'meanwhile',
  'nobody',
  'own',
  'place',
  'said',
  'told',
  'wanted',
  'whoever',
] as const;
const IN_COMMENT = new RegExp(String.raw`\b(?:${WORDS.join('|')}|by itself)\b`, 'i');
const IN_NAME: ReadonlySet<string> = new Set(WORDS);

const ROOT = join(import.meta.dir, '../..');
const FOLDERS = ['core', 'server', 'mcp-host', 'agent', 'snapshots', 'ui/src'];

/** A line of a comment, or a name in code, that has one of the words. */
export interface Found {
  readonly path: string;
  readonly line: number;
  readonly kind: 'comment' | 'name';
  readonly text: string;
}

/** Comments, texts, and what is left: code. A quote within a pattern may end a text too early, which is little of a tree. */
const PARTS =
  /(?<comment>\/\*[\s\S]*?\*\/|\/\/[^\n]*)|(?<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)|(?<name>[A-Za-z_$][\w$]*)/g;

export function foundIn(path: string, source: string): Found[] {
  const found: Found[] = [];
  let line = 1;
  let from = 0;
  for (const { 0: text, index, groups } of source.matchAll(PARTS)) {
    line += countLines(source.slice(from, index));
    from = index;
    if (groups?.['comment'] !== undefined) {
      for (const [n, one] of text.split('\n').entries()) {
        if (IN_COMMENT.test(one)) found.push({ path, line: line + n, kind: 'comment', text: one.trim() });
      }
    } else if (groups?.['name'] !== undefined && text !== 'hasOwn' && partsOf(text).some((part) => IN_NAME.has(part))) {
      found.push({ path, line, kind: 'name', text });
    }
  }
  return found;
}

const countLines = (text: string): number => text.split('\n').length - 1;

/** `asked`, `ms` of `asked_ms`; `read`, `own` of `readOwn`. */
const partsOf = (name: string): string[] => (name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []).map((part) => part.toLowerCase());

/** @param under folders or files, from the root; all of the product when there is none. */
export function countWords(under: readonly string[] = []): Found[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8', withFileTypes: true }).flatMap((entry) => {
      const path = relative(ROOT, join(entry.parentPath, entry.name)).replaceAll('\\', '/');
      const is_in = entry.isFile() && /\.tsx?$/.test(path) && !path.includes('node_modules/');
      if (!is_in || (under.length > 0 && !under.some((one) => path === one || path.startsWith(`${one}/`)))) return [];
      return foundIn(path, readFileSync(join(ROOT, path), 'utf8'));
    }),
  );
}

if (import.meta.main) {
  const found = countWords(process.argv.slice(2).map((path) => path.replace(/\/$/, '')));
  for (const { path, line, kind, text } of found) process.stdout.write(`${path}:${line}: ${kind}: ${text}\n`);
  const comments = found.filter(({ kind }) => kind === 'comment').length;
  process.stdout.write(`${comments} lines of comments, ${found.length - comments} names in code.\n`);
}
