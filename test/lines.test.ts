import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The size of the code, printed for information, and two caps that keep it from growing back. */
const ADVISED_LINES_OF_FILE = 300;
const MOST_LINES_OF_FILE = 400;
const MOST_FILES_OF_FOLDER = 20;

const root = join(import.meta.dir, '..');
const listing = Bun.spawnSync(['git', 'ls-files', '*.ts', '*.tsx'], { cwd: root });
const files = listing.stdout
  .toString()
  .split('\n')
  .filter((path) => path !== '' && !path.startsWith('test/') && !path.endsWith('.config.ts') && existsSync(join(root, path)))
  .map((path) => {
    const text = readFileSync(join(root, path), 'utf8').trimEnd();
    return { path, folder: dirname(path), lines: text.split('\n').length, code: codeLines(text) };
  });
const programs = files.filter(({ path }) => !path.startsWith('ui/'));

/** Lines that hold more than a comment. */
function codeLines(text: string): number {
  const without = text.replaceAll(/^[ \t]*\/\*[\s\S]*?\*\/[ \t]*$/gm, '');
  return without.split('\n').filter((line) => line.trim() !== '' && !/^\s*\/\//.test(line)).length;
}

/** `core/lib` of `core/lib/sql/bind.ts`, `server` of `server/tls/acme.ts`. */
function roomOf(path: string): string {
  const [first = '', second = '', third] = path.split('/');
  return first === 'core' && third !== undefined ? `${first}/${second}` : first;
}

function sumBy(names: readonly (readonly [name: string, amount: number])[]): [name: string, sum: number][] {
  const sums = new Map<string, number>();
  for (const [name, amount] of names) sums.set(name, (sums.get(name) ?? 0) + amount);
  return [...sums].toSorted(([, a], [, b]) => b - a);
}

test('the size of the code is printed by room', () => {
  const total = programs.reduce((sum, { code }) => sum + code, 0);
  const rows = [
    ['all but the interface', total] as const,
    ...sumBy(files.map(({ path, code }) => [roomOf(path), code])),
    ...files.filter(({ lines }) => lines > ADVISED_LINES_OF_FILE).map(({ path, lines }) => [path, lines] as const),
    ...sumBy(files.map(({ folder }) => [folder, 1])).filter(([, number]) => number > MOST_FILES_OF_FOLDER),
  ];
  const title = `Code lines by room, files above ${ADVISED_LINES_OF_FILE} lines, folders above ${MOST_FILES_OF_FOLDER} files:`;
  process.stdout.write(`${title}\n${rows.map(([name, number]) => `${String(number).padStart(7)}  ${name}`).join('\n')}\n`);
  expect(total).toBeGreaterThan(0);
});

test(`no file has more than ${MOST_LINES_OF_FILE} lines`, () => {
  expect(files.filter(({ lines }) => lines > MOST_LINES_OF_FILE).map(({ path }) => path)).toEqual([]);
});

test(`no folder has more than ${MOST_FILES_OF_FOLDER} files`, () => {
  const folders = sumBy(files.map(({ folder }) => [folder, 1]));
  expect(folders.filter(([, number]) => number > MOST_FILES_OF_FOLDER)).toEqual([]);
});
