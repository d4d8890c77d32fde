import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { judge } from './rooms/judge.ts';

/** How many imports `rooms.json` does not allow, and how many circles of files there still are. Neither may grow. */
const MOST = { violations: 0, circles: 0 };
/** What the interface may take of the rest. */
const UI_TAKES =
  /^#(ui\/|core\/(contract|client|lib)\/|core\/errors\.ts$|core\/process\/(issues|read-value)\.ts$|core\/query\/page-schemas\.ts$)/;
/** Packages of the folders that may not import just any. */
const PACKAGES: readonly (readonly [folder: string, packages: RegExp])[] = [
  ['core/contract/', /^valibot$/],
  ['core/client/', /^$/],
  [
    'ui/',
    /^(solid-js|@solidjs\/[\w-]+|@kobalte\/core|@codemirror\/[\w-]+|@lezer\/[\w-]+|sql-formatter|uplot|uqr|valibot|vite|vite-plugin-solid|node:url)(\/|$)/,
  ],
];
/** Sources of generated projects: they run elsewhere. */
const PROJECT = 'snapshots/generate/project/';
const MAX_LINES = 400;
const LEFT_OUT = new Set(['node_modules', 'data', 'generated', 'dist', 'coverage', 'docs']);

const root = join(import.meta.dir, '..');
const folders = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !LEFT_OUT.has(entry.name))
  .map((entry) => entry.name);
const files = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((path) => `${folder}/${path}`)
    .filter((path) => /\.(tsx?|mjs|css)$/.test(path) && !path.split('/').some((part) => LEFT_OUT.has(part)))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') })),
);
const scripts = files.filter(({ path }) => !path.endsWith('.css'));
const programs = scripts.filter(({ path }) => !path.startsWith('test/'));

function importsOf({ path, text }: { path: string; text: string }): string[] {
  const transpiler = new Bun.Transpiler({ loader: path.endsWith('x') ? 'tsx' : 'ts' });
  const paths = transpiler.scanImports(text).map((item) => item.path);
  // Bun adds its default JSX runtime to every .tsx file; Solid's compiler never sees it.
  const written = paths.filter((name) => name !== 'react' && !name.startsWith('react/'));
  return written.map((name) => (name.startsWith('.') ? `#${join(dirname(path), name)}` : name));
}

describe('the rooms', () => {
  test('import what they may, and there are no more circles', async () => {
    const { violations, circles, unassigned, crowded } = await judge(root);
    expect({ unassigned, crowded }).toEqual({ unassigned: [], crowded: [] });
    expect(violations.map(({ from, to }) => `${from} -> ${to}`).slice(MOST.violations)).toEqual([]);
    expect(circles.slice(MOST.circles)).toEqual([]);
  });

  test('pages of the interface do not import each other: what two need is a feature or a component', () => {
    const pageOf = (path: string) => /^#?ui\/src\/pages\/([\w-]+)/.exec(path)?.[1];
    const found = programs.flatMap((file) => {
      const own = pageOf(file.path);
      if (!file.path.startsWith('ui/src/') || file.path === 'ui/src/routes.tsx') return [];
      return importsOf(file)
        .filter((name) => pageOf(name) !== undefined && pageOf(name) !== own)
        .map((name) => `${file.path} → ${name}`);
    });
    expect(found).toEqual([]);
  });

  test('the interface takes the contract, the client and what knows nothing of the server', () => {
    const found = programs
      .filter(({ path }) => path.startsWith('ui/'))
      .flatMap((file) => importsOf(file).map((name) => `${file.path} imports ${name}`));
    expect(found.filter((line) => line.includes(' imports #') && !UI_TAKES.test(line.replace(/^.* imports /, '')))).toEqual([]);
  });

  test('take only some packages where it says so', () => {
    const found = PACKAGES.flatMap(([folder, packages]) =>
      programs
        .filter(({ path }) => path.startsWith(folder))
        .flatMap((file) => importsOf(file).map((name) => ({ path: file.path, name })))
        .filter(({ name }) => !name.startsWith('#') && !packages.test(name)),
    );
    expect(found).toEqual([]);
  });
});

describe('a host', () => {
  /** Everything that the programs of a host load, at start or later. */
  function loaded(): typeof files {
    const reached = new Set(['mcp-host/main.ts', 'mcp-host/stdio.ts', 'core/engines/sqlite/child.ts']);
    for (const path of reached) {
      const file = programs.find((one) => one.path === path);
      if (file === undefined) continue;
      for (const name of importsOf(file)) if (name.startsWith('#') && name.endsWith('.ts')) reached.add(name.slice(1));
    }
    return programs.filter(({ path }) => reached.has(path));
  }

  test('runs on Bun and on Deno: what only one of them has stands in mcp-host/runtime', () => {
    const folders = ['core/engines/', 'core/edge/', 'core/lib/', 'core/query/', 'mcp-host/'];
    const shared = programs.filter(({ path }) => folders.some((folder) => path.startsWith(folder)));
    const others = [...new Set([...loaded(), ...shared])].filter(({ path }) => !path.startsWith('mcp-host/runtime/'));
    expect(others.length).toBeGreaterThan(200);
    const written = others.map(({ path, text }) => ({ path, text: text.replaceAll(/\/\*[\s\S]*?\*\/|(^|\s)\/\/.*$/gm, '') }));
    expect(
      named(written, /\b(Bun|Deno)\.\w|\b(from|import\(?)\s*['"]bun(:\w+)?['"]|import\.meta\.(dir|path|file|main|require)\b/),
    ).toEqual([]);
  });
});

describe('every file', () => {
  test('reaches other folders through #, not through ../../', () => {
    expect(named(scripts, /(from|import|import\()\s*['"](\.\.\/){2,}/)).toEqual([]);
  });

  test('leaves the environment to core/process/env.ts', () => {
    const others = programs.filter(
      ({ path }) => path !== 'core/process/env.ts' && !path.endsWith('.config.ts') && !path.startsWith(PROJECT),
    );
    expect(named(others, /\b(process|Bun|import\.meta)\.env\b/)).toEqual([]);
  });

  test('exports by name', () => {
    const others = scripts.filter(({ path }) => !path.endsWith('.config.ts'));
    expect(named(others, /^export default\b|\bas default\s*[,}]/m)).toEqual([]);
  });

  test(`has at most ${MAX_LINES} lines`, () => {
    expect(files.filter(({ text }) => text.trimEnd().split('\n').length > MAX_LINES).map(({ path }) => path)).toEqual([]);
  });
});

function named(candidates: typeof files, pattern: RegExp): string[] {
  return candidates.filter(({ text }) => pattern.test(text)).map(({ path }) => path);
}
