import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArguments } from './arguments.ts';
import { toBatches } from './batches.ts';
import { subjects, testsOfSubjects, touchedBy } from './changed.ts';
import { parseJunit } from './junit.ts';
import { isIn, named, ROOT, VARIANTS } from './layers.ts';

const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .map((path) => `test/${path.replaceAll('\\', '/')}`)
  .filter((path) => /\.test\.tsx?$/.test(path) && !path.includes('/node_modules/'));
const leadsNowhere = (entry: string) => !files.some((file) => isIn(file, [entry]));

describe('the table of layers', () => {
  test('names only files and folders that have tests', () => {
    expect([...new Set(named())].filter((entry) => leadsNowhere(entry) && entry !== 'test/bench/')).toEqual([]);
  });

  test('compares whole names: a part of a path is no match', () => {
    expect(isIn('test/server/identity/oauth/clients.test.ts', ['test/server/cli'])).toBe(false);
    expect(isIn('test/server/cli.test.ts', ['test/server/cli'])).toBe(true);
    expect(isIn('test/server/cli.test.ts', ['test/server/'])).toBe(true);
  });

  test.each([...VARIANTS])('runs daily only what it runs at all$name', ({ files: varies, daily }) => {
    expect(daily.filter((entry) => !files.some((file) => isIn(file, [entry]) && varies(file)))).toEqual([]);
  });
});

describe('what a change touches', () => {
  test('is named by tests and subjects that exist', () => {
    expect(testsOfSubjects().filter(leadsNowhere)).toEqual([]);
    expect(subjects().filter((subject) => subject.endsWith('/') && !existsSync(join(ROOT, subject)))).toEqual([]);
  });

  test('follows the longest subject, and a test file touches itself', () => {
    expect(touchedBy(['server/tls/keeper.ts'])).toEqual(['test/server/tls/']);
    expect(touchedBy(['test/ui/forms.test.ts', 'test/mcp-host/support.ts'])).toEqual(['test/ui/forms', 'test/mcp-host/']);
  });

  test('includes the tests in the folder of the same name', () => {
    const missed = files.filter((file) => {
      const folder = file.slice('test/'.length, file.lastIndexOf('/'));
      return folder !== '' && existsSync(join(ROOT, folder)) && !isIn(file, touchedBy([`${folder}/any.ts`]));
    });
    expect(missed).toEqual([]);
  });

  test('is everything when nobody can say', () => {
    expect(touchedBy(['package.json'])).toEqual(['']);
    expect(touchedBy(['test/support/app.ts'])).toEqual(['']);
  });
});

describe('the arguments', () => {
  test('choose the layer: daily alone, full in CI and for what a path names', () => {
    expect(parseArguments([], {}).layer).toBe('daily');
    expect(parseArguments([], { CI: 'true' }).layer).toBe('full');
    expect(parseArguments(['test/core'], {}).layer).toBe('full');
    expect(parseArguments(['test/core', '--daily'], {}).layer).toBe('daily');
  });

  test('leave the options of bun test', () => {
    expect(parseArguments(['test/core', '--changed=HEAD~3', '-t', 'a name'], {})).toEqual({
      filters: ['test/core'],
      since: 'HEAD~3',
      layer: 'full',
      flags: ['-t', 'a name'],
    });
  });
});

test('batches hold each file once, the most expensive batch first, environments apart', () => {
  const names = ['test/core/a.test.ts', 'test/core/b.test.ts', 'test/ui/c.test.ts'];
  const runs = ['', ' (other)'].flatMap((variant) => names.map((file) => ({ file, variant, environment: {} })));
  const batches = toBatches(runs, { 'test/core/a.test.ts': 30, 'test/core/b.test.ts': 5 });
  expect(batches.flatMap((batch) => batch.runs)).toHaveLength(runs.length);
  expect(batches.map((batch) => batch.runs.map(({ file, variant }) => `${file.slice(5)}${variant}`))).toEqual([
    ['core/a.test.ts'],
    ['core/b.test.ts'],
    ['core/a.test.ts (other)', 'core/b.test.ts (other)'],
    ['ui/c.test.ts'],
    ['ui/c.test.ts (other)'],
  ]);
});

test('a file that costs nothing by its record still runs, alone or not', () => {
  const runs = ['test/cli/alone.test.ts', 'test/core/a.test.ts'].map((file) => ({ file, variant: '', environment: {} }));
  const batches = toBatches(runs, { 'test/cli/alone.test.ts': 0, 'test/core/a.test.ts': 0 });
  expect(batches.flatMap((batch) => batch.runs)).toHaveLength(2);
});

test('a JUnit report is read by file', () => {
  const xml = `<testsuite name="a"><testcase name="says &quot;no&quot;" classname="a &gt; b" file="test/a.test.ts" />
    <testcase name="skips" file="./test/a.test.ts"><skipped /></testcase><testcase name="fails" file="test/b.test.ts"><failure /></testcase>`;
  expect([...parseJunit(xml)]).toEqual([
    [
      'test/a.test.ts',
      [
        { name: 'a > b › says "no"', status: 'passed' },
        { name: 'skips', status: 'skipped' },
      ],
    ],
    ['test/b.test.ts', [{ name: 'fails', status: 'failed' }]],
  ]);
});
