import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';

const SOURCE = join(import.meta.dir, '../../ui/src');
/** Of the window: a phone, and whether the navigation stands beside the page. */
const WIDTHS = ['40rem', '56rem'];
/** What a page asks of its own width: a phone or tablet, a laptop, a wide screen. */
const PAGE_WIDTHS = ['37rem', '45rem', '56rem', '76rem'];
/** Classes that a package gives to its own elements. */
const OF_PACKAGES = /^(u|cm)-/;

const read = async (pattern: string) =>
  Promise.all(
    [...new Bun.Glob(pattern).scanSync(SOURCE)].map(async (path) => ({ path, text: await Bun.file(join(SOURCE, path)).text() })),
  );
const sheets = (await read('**/*.css')).map(({ path, text }) => ({ path, text: text.replaceAll(/\/\*[\s\S]*?\*\//g, '') }));
const modules = await read('**/*.{ts,tsx}');

/** Each class that a selector names, with the sheet. */
const ruled = sheets.flatMap(({ path, text }) =>
  [...text.matchAll(/([^{};]+)\{/g)].flatMap(([, selector = '']) =>
    [...selector.matchAll(/\.([a-z_][\w-]*)/gi)].map(([, name = '']) => ({ path, name })),
  ),
);
/** The words of every `class=` and `classList=`, also of the strings inside an expression, and of what is made without Solid. */
const worn = modules.flatMap(({ path, text }) =>
  [
    ...text
      .replaceAll(/class(?:: |Name = )'(sv[^']*)'/g, 'class="$1"')
      .matchAll(/class(?:List)?=(?:"([^"]*)"|\{((?:[^{}]|\{[^{}]*\})*)\})/g),
  ].flatMap(([, plain, expression = '']) => {
    // What is compared inside of an expression is a value, not a class.
    const given = expression.replaceAll(/===\s*'[^']*'/g, '');
    const texts =
      plain === undefined
        ? [...given.matchAll(/["'`]([^"'`]*)["'`]|(\w+):/g)].map((match) => match[1] ?? match[2] ?? '')
        : [plain];
    return texts
      .flatMap((inner) => inner.replaceAll(/\$\{[^}]*\}/g, ' ').split(/\s+/))
      .filter((name) => /^[a-z][\w-]*$/.test(name))
      .map((name) => ({ path, name }));
  }),
);

const namesOf = (list: readonly { readonly name: string }[]) => new Set(list.map(({ name }) => name));
const sentence = ({ path, name }: { path: string; name: string }) => `${name} (${path})`;

describe('styles', () => {
  test('every class that a rule names is on some element', () => {
    const used = namesOf(worn);
    expect(ruled.filter(({ name }) => !used.has(name) && !OF_PACKAGES.test(name)).map(sentence)).toEqual([]);
  });

  test('every class of an element has a rule', () => {
    const known = namesOf(ruled);
    expect(worn.filter(({ name }) => !known.has(name)).map(sentence)).toEqual([]);
  });

  test('a window has two breakpoints, a page has four', () => {
    const widths = sheets.flatMap(({ path, text }) =>
      [...text.matchAll(/@media[^{]*\bwidth\s*[<>]=?\s*([\w.]+)/g)].map(([, width = '']) => ({ path, name: width })),
    );
    expect(widths.filter(({ name }) => !WIDTHS.includes(name)).map(sentence)).toEqual([]);
    expect(sheets.filter(({ text }) => /\((?:min|max)-width:/.test(text)).map(({ path }) => path)).toEqual([]);
    const of_pages = sheets.flatMap(({ path, text }) =>
      [...text.matchAll(/@container page \(width [<>]=? ([\w.]+)\)/g)].map(([, name = '']) => ({ path, name })),
    );
    expect([...namesOf(of_pages)].toSorted()).toEqual(PAGE_WIDTHS);
  });

  test('a sheet is part of the layers: the first one names them, and the build puts the others in', async () => {
    const first = await Bun.file(join(SOURCE, 'styles/index.css')).text();
    expect(first).toContain('@layer tokens, base, kit, pages, forced;');
    expect([...first.matchAll(/@import '[^']+'(.*);/g)].filter(([, rest]) => !/^ layer\(\w+\)$/.test(rest ?? ''))).toEqual([]);
    expect(
      sheets.filter(({ path, text }) => !path.startsWith('styles/') && text.includes('@layer')).map(({ path }) => path),
    ).toEqual([]);
  });
});
