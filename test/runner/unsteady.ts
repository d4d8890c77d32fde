import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const LIST = join(import.meta.dir, 'unsteady.txt');

/** Files that failed at first and passed when run alone, in this run's order; one that did so before has failed: it is to be mended. */
export function noteUnsteady(titles: readonly string[]): { readonly again: readonly string[] } {
  const before = existsSync(LIST) ? readFileSync(LIST, 'utf8') : '';
  const known = new Set(before.split('\n').map((line) => line.slice(line.indexOf(' ') + 1)));
  const today = new Date().toISOString().slice(0, 10);
  if (titles.length > 0) appendFileSync(LIST, titles.map((title) => `${today} ${title}\n`).join(''));
  return { again: titles.filter((title) => known.has(title)) };
}
