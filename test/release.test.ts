import { afterAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dir, '..');
const out = mkdtempSync(join(tmpdir(), 'sluice-release-test-'));
afterAll(() => rmSync(out, { recursive: true }));

function run(...command: string[]) {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd: ROOT, stdin: 'ignore' });
  return { code: exitCode, out: stdout.toString(), err: stderr.toString() };
}
const release = (...args: string[]) => run(process.execPath, '.ci/release.ts', ...args, '--dry-run', '--out', out);
/** What a release may change in the repository. */
const state = () => [
  run('git', 'rev-parse', 'HEAD'),
  run('git', 'status', '--porcelain'),
  run('git', 'tag'),
  run('git', 'worktree', 'list').out.includes('sluice-release-'),
];

interface Bom {
  readonly specVersion: string;
  readonly metadata: { readonly component: { readonly version: string } };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly hashes: readonly { content: string }[];
  }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

describe('a dry run of a release', () => {
  test('writes the package, its bill of materials and their checksums, and leaves the repository as it was', () => {
    const before = state();
    expect(release('99.0.0')).toMatchObject({ code: 0, err: '' });
    expect(state()).toEqual(before);
    expect(readdirSync(out).toSorted()).toEqual(['SHA256SUMS', 'sluice-99.0.0.cdx.json', 'sluice-99.0.0.tgz']);
    for (const line of readFileSync(join(out, 'SHA256SUMS'), 'utf8').trim().split('\n')) {
      const [sum, name = ''] = line.split('  ');
      expect(
        createHash('sha256')
          .update(readFileSync(join(out, name)))
          .digest('hex'),
      ).toBe(sum ?? '');
    }
  }, 120_000);

  test('gives the package the version, and what was unreleased a section of the changelog', () => {
    const inside = (path: string) => run('tar', 'xzOf', join(out, 'sluice-99.0.0.tgz'), `package/${path}`).out;
    expect(JSON.parse(inside('package.json'))).toMatchObject({ version: '99.0.0', bin: { sluice: 'sluice.mjs' } });
    expect(inside('CHANGELOG.md')).toMatch(/## Unreleased\n\n## 99\.0\.0 – \d{4}-\d\d-\d\d\n/);
    expect(inside('ui/dist/index.html')).toContain('<script');
  });

  test('lists what is installed in production, with its hash, and nothing else', () => {
    const bom = JSON.parse(readFileSync(join(out, 'sluice-99.0.0.cdx.json'), 'utf8')) as Bom;
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
      string,
      Record<string, string>
    >;
    expect(bom).toMatchObject({ specVersion: '1.6', metadata: { component: { version: '99.0.0' } } });
    const versions = new Map(bom.components.map(({ name, version }) => [name, version]));
    for (const [name, version] of Object.entries(dependencies ?? {})) expect([name, versions.get(name)]).toEqual([name, version]);
    const tools = ['vite', 'typescript', 'deno', 'playwright-core'];
    expect(tools.filter((name) => devDependencies?.[name] === undefined || versions.has(name))).toEqual([]);
    expect(bom.components.filter(({ hashes }) => hashes[0]?.content.length !== 128)).toEqual([]);
    const refs = new Set(bom.dependencies.map(({ ref }) => ref));
    expect(bom.dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !refs.has(ref))).toEqual([]);
  });

  test('refuses an earlier version and what is none', () => {
    expect(release('0.0.1')).toMatchObject({ code: 1, err: expect.stringContaining('0.0.1 is not later than') });
    expect(release('next')).toMatchObject({ code: 1, err: expect.stringContaining('Usage:') });
  }, 60_000);
});
