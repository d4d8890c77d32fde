import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'bun:test';
import { Glob } from 'bun';

const ROOT = join(import.meta.dir, '..');
const page = readFileSync(join(ROOT, 'SECURITY.md'), 'utf8');

/** The cells of every row of the tables whose heading ends with this column. */
function rowsOf(last: string): string[][] {
  const cells = (line: string) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim());
  const rows: string[][] = [];
  let inside = false;
  for (const line of page.split('\n')) {
    if (!line.startsWith('|')) inside = false;
    else if (cells(line).at(-1) === last) inside = true;
    else if (inside && !line.startsWith('|---')) rows.push(cells(line));
  }
  return rows;
}

const testsIn = (cell: string): string[] => Array.from(cell.matchAll(/`(test\/[^`]+)`/g), ([, path = '']) => path);
const exists = (path: string): boolean => {
  const found = (pattern: string) => !new Glob(pattern).scanSync({ cwd: ROOT, onlyFiles: true }).next().done;
  return found(path) || found(`${path}/**/*.test.ts`) || found(`${path}*`);
};

test('every threat and requirement in SECURITY.md names tests that exist', () => {
  const rows = [...rowsOf('tests'), ...rowsOf('shown by')];
  expect(rows.length).toBeGreaterThan(60);
  const gone = rows.flatMap((row) => testsIn(row.at(-1) ?? '').filter((path) => !exists(path)));
  expect(gone).toEqual([]);
});

test('each requirement has a state, and one that holds or is a setting names a test', () => {
  const rows = rowsOf('shown by').map((row) => ({ name: row[0], state: row.at(-2) ?? '', tests: testsIn(row.at(-1) ?? '') }));
  expect(rows.filter(({ state }) => !/^(?:holds|in part|setting|client|not)\b/.test(state))).toEqual([]);
  expect(rows.filter(({ state, tests }) => /^(?:holds|setting|in part)/.test(state) && tests.length === 0)).toEqual([]);
});
