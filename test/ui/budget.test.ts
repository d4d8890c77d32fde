import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const UI = join(import.meta.dir, '../../ui');
const VITE = join(import.meta.dir, '../../node_modules/vite/bin/vite.js');
const ENTRY_KB = 66;
const PAGE_KB = 251;
/** Loaded when a person asks for it or a definition depends on its caller, not with a page. */
const ON_REQUEST =
  /sql-formatter|\bkeep-test|_keep-test|features\/tests\/(?:test-editor|test-list)|features\/run\/(?:drawn-result|result-parts)|result-view|json-view|\bshow-as|_show-as|tools\/(?:view-fields|writes-panel)|checks\/lint-of|plan\/plan-pane|builder\/(?:masks-panel|model-view|parameters\/parameter-rules|schema\/schema-pane)/;

/** One file of the build as Vite's manifest describes it. */
interface Chunk {
  readonly file: string;
  readonly src?: string;
  readonly isEntry?: boolean;
  readonly css?: readonly string[];
  readonly assets?: readonly string[];
  readonly imports?: readonly string[];
  readonly dynamicImports?: readonly string[];
}

let out = '';
let manifest: Readonly<Record<string, Chunk>> = {};
beforeAll(async () => {
  out = await mkdtemp(join(tmpdir(), 'sluice-ui-'));
  const build = Bun.spawn(
    [process.execPath, '--bun', VITE, 'build', UI, '--outDir', out, '--manifest', 'manifest.json', '--logLevel', 'warn'],
    { stderr: 'pipe' },
  );
  if ((await build.exited) !== 0) throw new Error(await new Response(build.stderr).text());
  manifest = (await Bun.file(join(out, 'manifest.json')).json()) as typeof manifest;
}, 120_000);
afterAll(() => rm(out, { recursive: true, force: true }));

const kilobytes = async (paths: Iterable<string>): Promise<number> => {
  const sizes = await Promise.all(
    [...paths].map(async (path) => Bun.gzipSync(await Bun.file(join(out, path)).bytes()).byteLength),
  );
  return sizes.reduce((sum, size) => sum + size, 0) / 1_000;
};

const named = (name: string): Chunk => manifest[name] ?? { file: name };

/** The chunks that one needs before it runs, and with `lazy` those that it may load later; none of `known`. */
function chunksOf(name: string, lazy: boolean, known: ReadonlySet<string> = new Set(), found = new Set<string>()): Set<string> {
  if (known.has(name) || found.has(name)) return found;
  found.add(name);
  const { imports = [], dynamicImports = [] } = named(name);
  const later = lazy ? dynamicImports.filter((next) => !ON_REQUEST.test(next)) : [];
  for (const next of [...imports, ...later]) chunksOf(next, lazy, known, found);
  return found;
}

const filesOf = (chunks: Iterable<string>): string[] =>
  [...chunks].flatMap((name) => [named(name).file, ...(named(name).css ?? []), ...(named(name).assets ?? [])]);

const pagesOf = () => Object.entries(manifest).filter(([, { src }]) => src?.startsWith('src/pages/'));

test(`what the first page needs is at most ${ENTRY_KB} kB gzip`, async () => {
  const html = await Bun.file(join(out, 'index.html')).text();
  const entry = [...html.matchAll(/(?:src|href)="\/([^"]+\.(?:js|css))"/g)].map((match) => match[1] ?? '');
  expect(entry.length).toBeGreaterThanOrEqual(3);
  expect(await kilobytes(['index.html', ...entry])).toBeLessThanOrEqual(ENTRY_KB);
});

test('the page that draws results in clients is one file of at most 40 kB, 15 kB gzip, that loads nothing', async () => {
  const html = await Bun.file(join(out, 'view.html')).text();
  expect(Buffer.byteLength(html)).toBeLessThanOrEqual(40_000);
  expect(await kilobytes(['view.html'])).toBeLessThanOrEqual(15);
  expect(html).toContain(`content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'`);
  expect(
    /<(?:link|img|iframe|script\s)|\b(?:src|href)=|url\(|@import|\bfetch\(|XMLHttpRequest|innerHTML|new Function|\beval\(/.exec(
      html,
    )?.[0],
  ).toBeUndefined();
});

describe('pages', () => {
  test(`each page needs at most ${PAGE_KB} kB gzip beside the entry, with its editors and charts`, async () => {
    const entry = Object.entries(manifest).find(([, chunk]) => chunk.isEntry)?.[0] ?? '';
    const pages = pagesOf();
    expect(pages.length).toBeGreaterThanOrEqual(5);
    const sizes = await Promise.all(
      pages.map(async ([name]) => {
        const first = chunksOf(entry, false);
        const files = new Set(filesOf(chunksOf(name, true, first)));
        return { name, kilobytes: Math.ceil(await kilobytes(files)) };
      }),
    );
    expect(sizes.filter((page) => page.kilobytes > PAGE_KB)).toEqual([]);
  });
});

test('nothing in the build needs more than a strict content security policy allows', async () => {
  const html = await Bun.file(join(out, 'index.html')).text();
  expect(html).not.toMatch(/<style|\sstyle=|<script(?![^>]*\ssrc=)|\son\w+=/);
  for (const file of await readdir(join(out, 'assets'))) {
    const text = await Bun.file(join(out, 'assets', file)).text();
    expect([file, /url\(["']?data:(?!image\/)|@import\s*["']?https?:|<[a-z]+[^<>]*\sstyle=/.exec(text)?.[0]]).toEqual([
      file,
      undefined,
    ]);
    if (file.endsWith('.js')) expect([file, /\beval\(|new Function\(/.exec(text)?.[0]]).toEqual([file, undefined]);
  }
  expect(await Bun.file(join(UI, 'docs', 'swagger.html')).text()).not.toMatch(/<style|\sstyle=|<script(?![^>]*\ssrc=)|https?:/);
});
