import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Who may import whom at run time: our own folders, below them each folder or file of `core`. Types are free. */
const FLOOR = ['core/contract', 'core/lib', 'core/env', 'core/errors', 'core/issues', 'core/log', 'core/product', 'core/version'];
const ROOM = ['core', 'snapshots'];
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  'core/lib': ['core/errors'],
  'core/contract': [],
  'core/engines': FLOOR,
  'core/env': FLOOR,
  'core/edge': FLOOR,
  'core/cluster': FLOOR,
  'core/definitions': ROOM,
  'core/deploy': ROOM,
  'core/identity': ROOM,
  'core/observe': ROOM,
  'core/proposals': ROOM,
  'core/transfer': ROOM,
  'core/store': ROOM,
  'core/app': ROOM,
  'core/handlers': ROOM,
  'core/run': ROOM,
  'core/client': ['core/contract', 'core/errors'],
  core: FLOOR,
  snapshots: ['core/contract', 'core/lib', 'core/engines', 'core/errors', 'core/product'],
  // Sources of generated projects: they run elsewhere, with what they import copied beside them.
  'snapshots/generate/project': ['core/lib', 'core/engines', 'core/edge', 'core/errors'],
  server: ROOM,
  // The one command, which starts every program.
  'server/sluice': ['server', 'mcp-host', 'agent', 'core/env', 'core/product', 'core/engines', 'core/deploy'],
  'mcp-host': [...FLOOR, 'snapshots', 'core/client', 'core/engines', 'core/edge', 'core/cluster'],
  agent: [...FLOOR, 'core/client', 'core/edge'],
  ui: ['core/contract', 'core/client', 'core/client-texts', 'core/errors', 'core/issues', 'core/lib', 'core/read-value'],
};
/** Packages of the folders that may not import just any. */
const PACKAGES: Readonly<Record<string, RegExp>> = {
  'core/contract': /^valibot$/,
  'core/client': /^$/,
  ui: /^(solid-js|@solidjs\/[\w-]+|@kobalte\/core|@codemirror\/[\w-]+|@lezer\/[\w-]+|sql-formatter|uplot|uqr|valibot|vite|vite-plugin-solid|node:url)(\/|$)/,
};
const PROJECT = 'snapshots/generate/project';
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

/** `core/query/query.ts` belongs to `core/engine`, `core/errors.ts` to `core/errors`, everything else to its first folder. */
function unitOf(path: string): string {
  if (path.startsWith(`${PROJECT}/`)) return PROJECT;
  if (path === 'server/sluice.ts') return 'server/sluice';
  return path.startsWith('core/') ? path.split('/').slice(0, 2).join('/').replace(/\.ts$/, '') : path.replace(/\/.*/, '');
}

const within = (unit: string, allowed: readonly string[]) => allowed.some((name) => unit === name || unit.startsWith(`${name}/`));

function importsOf({ path, text }: { path: string; text: string }): string[] {
  const transpiler = new Bun.Transpiler({ loader: path.endsWith('x') ? 'tsx' : 'ts' });
  const paths = transpiler.scanImports(text).map((item) => item.path);
  // Bun adds its default JSX runtime to every .tsx file; Solid's compiler never sees it.
  const written = paths.filter((name) => name !== 'react' && !name.startsWith('react/'));
  return written.map((name) => (name.startsWith('.') ? `#${join(dirname(path), name)}` : name));
}

describe('the folders', () => {
  test('are all in the table of arrows', () => {
    expect(folders.filter((folder) => folder !== 'test' && !ARROWS[folder])).toEqual([]);
    const inside = readdirSync(join(root, 'core'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(inside.map((entry) => `core/${entry.name}`).filter((folder) => !ARROWS[folder])).toEqual([]);
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

  test('import only what the table allows', () => {
    const faults = programs.flatMap((file) => {
      const unit = unitOf(file.path);
      const allowed = [unit, ...(ARROWS[unit] ?? ARROWS['core'] ?? [])];
      return importsOf(file).flatMap((path) => {
        const packages = PACKAGES[unit] ?? /./;
        const fine = path.startsWith('#')
          ? path === '#package.json' || within(unitOf(path.slice(1)), allowed)
          : packages.test(path);
        return fine ? [] : [`${file.path} imports ${path}`];
      });
    });
    expect(faults).toEqual([]);
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
    const folders = ['core/engines/', 'core/edge/', 'core/lib/', 'mcp-host/'];
    const shared = programs.filter(({ path }) => folders.some((folder) => path.startsWith(folder)));
    const others = [...new Set([...loaded(), ...shared])].filter(({ path }) => !path.startsWith('mcp-host/runtime/'));
    expect(others.length).toBeGreaterThan(200);
    const written = others.map(({ path, text }) => ({ path, text: text.replaceAll(/\/\*[\s\S]*?\*\/|(^|\s)\/\/.*$/gm, '') }));
    expect(named(written, /\b(Bun|Deno)\.\w|['"]bun(:\w+)?['"]|import\.meta\.(dir|path|file|main|require)\b/)).toEqual([]);
  });
});

describe('every file', () => {
  test('reaches other folders through #, not through ../../', () => {
    expect(named(scripts, /(from|import|import\()\s*['"](\.\.\/){2,}/)).toEqual([]);
  });

  test('leaves the environment to core/process/env.ts', () => {
    const others = programs.filter(
      ({ path }) => path !== 'core/process/env.ts' && !path.endsWith('.config.ts') && unitOf(path) !== PROJECT,
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
