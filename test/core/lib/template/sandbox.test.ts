import { expect, test } from 'bun:test';
import { Glob } from 'bun';
import { FILTERS, METHODS } from '#core/lib/template/filters/filters.ts';
import { FUNCTIONS } from '#core/lib/template/functions.ts';
import { TESTS } from '#core/lib/template/tests.ts';

const folder = new URL('../../../../core/lib/template/', import.meta.url).pathname;

test('no source of the evaluator makes code from text', async () => {
  for await (const path of new Glob('**/*.ts').scan(folder)) {
    const source = await Bun.file(folder + path).text();
    expect(source).not.toMatch(/\beval\s*\(|new Function|Function\(|node:vm|import\(/);
  }
});

test('only the parser of nunjucks is loaded, and only when a text is parsed', async () => {
  const script = `
    const { loadTemplate, renderTemplate } = await import('${folder}evaluate.ts');
    const { parseTemplate } = await import('${folder}parse.ts');
    const loaded = () => Object.keys(require.cache).filter((path) => path.includes('/nunjucks/')).map((path) => path.split('/').at(-1)).sort();
    const ast = { format: 'sluice-template/1', body: [{ type: 'text', text: 'a' }] };
    const before = renderTemplate(loadTemplate(ast), {}) + loaded().length;
    parseTemplate('{{ a }}');
    console.log(JSON.stringify([before, loaded()]));`;
  const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe' });
  expect(JSON.parse(await new Response(child.stdout).text())).toEqual([
    'a0',
    ['lexer.js', 'lib.js', 'nodes.js', 'object.js', 'parser.js'],
  ]);
});

test('the documentation names every filter, test, function and method, and none besides', async () => {
  const page = await Bun.file(`${folder}README.md`).text();
  const tables: Readonly<Record<string, ReadonlyMap<string, unknown>>> = {
    Filters: FILTERS,
    Tests: TESTS,
    Functions: FUNCTIONS,
    Methods: METHODS,
  };
  for (const [title, table] of Object.entries(tables)) {
    const [section = ''] = page.split(`## ${title}\n`)[1]?.split('\n## ') ?? [];
    const cells = section
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) => line.split(' | ')[0] ?? '');
    const named = new Set(cells.flatMap((cell) => [...cell.matchAll(/`([^`(]+)[^`]*`/g)].map(([, name]) => name)));
    expect(named).toEqual(new Set(table.keys()));
  }
});
