import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dir, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
type Versions = Record<string, string>;
const manifest = (folder: string): { license?: string; dependencies: Versions; devDependencies?: Versions } =>
  JSON.parse(read(join(folder, 'package.json')));
/** The product, and the MCP clients of its tests. */
const PACKAGES = ['', 'test/clients'];

/** Everything git keeps or would keep; a checkout without git has nothing to compare with. */
const listing = Bun.spawnSync(['git', 'ls-files', '-co', '--exclude-standard'], { cwd: root });
const tracked = listing.success ? listing.stdout.toString().trim().split('\n') : [];
const texts = tracked.filter(
  (path) => !/((^|\/)bun\.lock|\.(png|ico|woff2|jsonl|db|svg))$/.test(path) && existsSync(join(root, path)),
);

function matching(pattern: RegExp): string[] {
  return texts.filter((path) => path !== 'test/repository.test.ts' && pattern.test(read(path)));
}

test.each(PACKAGES)('bun.lock is the only lock file of the package in "%s" and names no registry', (folder) => {
  expect(read(join(folder, 'bun.lock'))).not.toMatch(/https?:\/\//);
  for (const other of ['package-lock.json', 'npm-shrinkwrap.json', 'yarn.lock', 'pnpm-lock.yaml', 'bun.lockb']) {
    expect(existsSync(join(root, folder, other))).toBe(false);
  }
});

test.each(PACKAGES)('every version of the package in "%s" is exact and locked', (folder) => {
  const { dependencies, devDependencies } = manifest(folder);
  const versions = Object.entries({ ...dependencies, ...devDependencies });
  expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  const lock = read(join(folder, 'bun.lock'));
  expect(versions.filter(([name, version]) => !lock.includes(`"${name}@${version}"`))).toEqual([]);
});

test('bun.lock holds what the packages bring for every kind of machine, not for this one alone', () => {
  const { packages } = JSON.parse(read('bun.lock').replaceAll(/,(\s*[}\]])/g, '$1')) as {
    packages: Record<string, [string, string, { optionalDependencies?: Versions }?]>;
  };
  const missing = Object.entries(packages).flatMap(([path, [, , { optionalDependencies = {} } = {}]]) =>
    Object.keys(optionalDependencies).filter((name) => !(name in packages) && !(`${path}/${name}` in packages)),
  );
  expect(missing).toEqual([]);
});

test('the licence is MIT', () => {
  expect(manifest('').license).toBe('MIT');
  expect(read('LICENSE')).toStartWith('MIT License');
});

test('AGENTS.md has at most 80 lines and names every folder', () => {
  const guide = read('AGENTS.md');
  expect(guide.trimEnd().split('\n').length).toBeLessThanOrEqual(80);
  for (const folder of ['core/', 'server/', 'mcp-host/', 'agent/', 'snapshots/', 'ui/', 'test/']) expect(guide).toContain(folder);
});

test('.ci/run can be executed and calls the test command of the README', () => {
  expect(read('.ci/run')).toContain('npm test');
  expect(Bun.spawnSync(['bash', '-n', join(root, '.ci/run')]).exitCode).toBe(0);
  expect(Bun.spawnSync(['test', '-x', join(root, '.ci/run')]).exitCode).toBe(0);
});

test('no file holds a path of somebody’s machine', () => {
  expect(matching(/(^|[\s"'`(=:])\/(root|work|home\/[a-z]\w*|Users\/[A-Za-z]\w*)\/\w/m)).toEqual([]);
});

test('git ignores no file of the product', () => {
  const folders = ['core', 'server', 'mcp-host', 'agent', 'snapshots', 'ui/src', 'ui/public', 'ui/docs'];
  const ignored = Bun.spawnSync(['git', 'ls-files', '-oi', '--exclude-standard', '--', ...folders], { cwd: root });
  expect(ignored.stdout.toString()).toBe('');
});

test('no file holds a note of work left to do', () => {
  expect(matching(/\b(TODO|FIXME)\b/)).toEqual([]);
});
