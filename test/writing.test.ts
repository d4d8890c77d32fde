import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What test/README.md says of tests. */
const LONGEST_NAME = 100;
/** They are declared once, in test/support or beside what starts a host: in a file of its own such a name says too little. */
const SHARED_HELPERS = /^(?:export )?(?:async )?(?:const|function\*?) (connection|deploy|call|create|post|ask)\b/gm;
/** The first argument of `describe` and `test`, in front of their function. */
const NAME = /\(\s*(['`])((?:\\.|(?!\1)[^\\])*)\1,\s*(?:async )?(?:\(|function\b)/g;

const read = (path: string): string => readFileSync(join(import.meta.dir, path), 'utf8');
const files = readdirSync(import.meta.dir, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => /\.tsx?$/.test(path) && !/node_modules|^(bench|fixtures|clients\/libraries)\//.test(path))
  .map((path) => ({ path, text: read(path) }));

test(`no name of a test has more than ${LONGEST_NAME} characters`, () => {
  const names = files.flatMap(({ path, text }) => [...text.matchAll(NAME)].map(([, , name = '']) => ({ path, name })));
  expect(names.length).toBeGreaterThan(3_000);
  expect(names.filter(({ name }) => name.length > LONGEST_NAME)).toEqual([]);
});

test('no test file declares a helper under the name of a shared one', () => {
  const own = files.filter(({ path }) => !/^support\/|support\.ts$/.test(path));
  const declared = own.flatMap(({ path, text }) => [...text.matchAll(SHARED_HELPERS)].map(([, name = '']) => ({ path, name })));
  expect(declared).toEqual([]);
});

test('the examples of test/README.md are the files that they name', () => {
  const examples = [...read('README.md').matchAll(/^## .*`(examples\/[\w.-]+)`\n```ts\n([\s\S]*?)^```$/gm)];
  const stored = readdirSync(join(import.meta.dir, 'examples')).map((name) => `examples/${name}`);
  expect(examples.map(([, path = '']) => path).toSorted()).toEqual(stored.toSorted());
  for (const [, path = '', text = ''] of examples) expect([path, text]).toEqual([path, read(path)]);
});
