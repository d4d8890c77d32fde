import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const UI = join(import.meta.dir, '../../ui');
const VITE = join(import.meta.dir, '../../node_modules/vite/bin/vite.js');
const ENTRY_KB = 90;
const ROUTE_KB = 250;

let out = '';
beforeAll(async () => {
  out = await mkdtemp(join(tmpdir(), 'sluice-ui-'));
  const build = Bun.spawn([process.execPath, '--bun', VITE, 'build', UI, '--outDir', out, '--logLevel', 'warn'], {
    stderr: 'pipe',
  });
  if ((await build.exited) !== 0) throw new Error(await new Response(build.stderr).text());
}, 60_000);
afterAll(() => rm(out, { recursive: true, force: true }));

const kilobytes = async (paths: readonly string[]): Promise<number> => {
  const sizes = await Promise.all(paths.map(async (path) => Bun.gzipSync(await Bun.file(join(out, path)).bytes()).byteLength));
  return sizes.reduce((sum, size) => sum + size, 0) / 1_000;
};

test(`what the first page needs is at most ${ENTRY_KB} kB gzip`, async () => {
  const html = await Bun.file(join(out, 'index.html')).text();
  const entry = [...html.matchAll(/(?:src|href)="\/([^"]+\.(?:js|css))"/g)].map((match) => match[1] ?? '');
  expect(entry.length).toBeGreaterThanOrEqual(3);
  expect(await kilobytes(['index.html', ...entry])).toBeLessThanOrEqual(ENTRY_KB);
});

test(`all code together is at most ${ROUTE_KB} kB gzip`, async () => {
  const assets = (await readdir(join(out, 'assets'))).map((file) => `assets/${file}`);
  expect(await kilobytes(assets)).toBeLessThanOrEqual(ROUTE_KB);
});

test('nothing in the build needs more than a strict content security policy allows', async () => {
  const html = await Bun.file(join(out, 'index.html')).text();
  expect(html).not.toMatch(/<style|\sstyle=|<script(?![^>]*\ssrc=)|\son\w+=/);
  for (const file of await readdir(join(out, 'assets'))) {
    const text = await Bun.file(join(out, 'assets', file)).text();
    expect(text).not.toMatch(/url\(["']?data:|@import\s*["']?https?:|<[a-z]+[^<>]*\sstyle=/);
    if (file.endsWith('.js')) expect(text).not.toMatch(/\beval\(|new Function\(/);
  }
  for (const page of ['swagger.html', 'redoc.html']) {
    expect(await Bun.file(join(UI, 'docs', page)).text()).not.toMatch(/<style|\sstyle=|<script(?![^>]*\ssrc=)|https?:/);
  }
});
