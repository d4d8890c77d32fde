import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { parseLock, toBom } from './sbom.ts';

/**
 * `bun .ci/release.ts 1.2.0 [--dry-run] [--out FOLDER] [--add FILE …]`: takes the last commit, gives it a version and a section of the
 * changelog, and writes the npm package, a bill of materials and checksums into a folder. Without `--dry-run` the commit and its tag stay.
 * Files such as executables of other machines (`bun run build:binary`) join with `--add`.
 */
const ROOT = resolve(import.meta.dirname, '..');
const VERSION = /^\d+\.\d+\.\d+(-[0-9a-z.]+)?$/;

class Refusal extends Error {}

try {
  release();
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}

function release(): void {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { 'dry-run': { type: 'boolean' }, out: { type: 'string' }, add: { type: 'string', multiple: true } },
  });
  const [version = ''] = positionals;
  const dry = values['dry-run'] === true;
  const out = resolve(values.out ?? join(ROOT, 'dist/release'));
  const date = new Date();
  if (!VERSION.test(version)) throw new Refusal('Usage: bun .ci/release.ts 1.2.0 [--dry-run] [--out FOLDER] [--add FILE …]');
  if (!dry && git('status', '--porcelain') !== '') throw new Refusal('The working copy has changes. Commit them first.');
  if (git('tag', '--list', `v${version}`) !== '') throw new Refusal(`There is a tag v${version} already.`);

  run([process.execPath, 'launch.mjs', 'build'], ROOT);
  const folder = mkdtempSync(join(tmpdir(), 'sluice-release-'));
  const tree = join(folder, 'sluice');
  git('worktree', 'add', '--detach', tree, 'HEAD');
  try {
    bump(tree, version, date);
    cpSync(join(ROOT, 'ui/dist'), join(tree, 'ui/dist'), { recursive: true });
    mkdirSync(out, { recursive: true });
    run(['npm', 'pack', '--ignore-scripts', '--pack-destination', out], tree);
    const bom = toBom(parseLock(readFileSync(join(tree, 'bun.lock'), 'utf8')), version, date);
    const files = [`sluice-${version}.tgz`, `sluice-${version}.cdx.json`];
    writeFileSync(join(out, files[1] ?? ''), `${JSON.stringify(bom, null, 2)}\n`);
    for (const path of values.add ?? []) {
      files.push(basename(path));
      cpSync(path, join(out, basename(path)));
    }
    writeFileSync(join(out, 'SHA256SUMS'), files.map((name) => `${sha256(join(out, name))}  ${name}\n`).join(''));
    if (!dry) keep(tree, version);
    const end = dry ? 'Nothing else was changed.' : `Push the commit and the tag v${version}.`;
    process.stdout.write(`${files.map((name) => join(out, name)).join('\n')}\n${end}\n`);
  } finally {
    git('worktree', 'remove', '--force', tree);
    rmSync(folder, { recursive: true });
  }
}

/** The version and the changelog of a tree. */
function bump(tree: string, version: string, date: Date): void {
  const manifest = readFileSync(join(tree, 'package.json'), 'utf8');
  const current = (JSON.parse(manifest) as { version: string }).version;
  if (Bun.semver.order(version, current) <= 0) throw new Refusal(`${version} is not later than ${current}.`);
  writeFileSync(join(tree, 'package.json'), manifest.replace(`"version": "${current}"`, `"version": "${version}"`));
  const changelog = readFileSync(join(tree, 'CHANGELOG.md'), 'utf8');
  const [, news = ''] = /^## Unreleased\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(changelog) ?? [];
  if (news.trim() === '') throw new Refusal('CHANGELOG.md says nothing under "## Unreleased".');
  const section = `## Unreleased\n\n## ${version} – ${date.toISOString().slice(0, 10)}\n`;
  writeFileSync(join(tree, 'CHANGELOG.md'), changelog.replace('## Unreleased\n', section));
}

function keep(tree: string, version: string): void {
  git('-C', tree, 'commit', '--quiet', '--message', `chore: release ${version}`, 'package.json', 'CHANGELOG.md');
  git('merge', '--quiet', '--ff-only', git('-C', tree, 'rev-parse', 'HEAD'));
  git('tag', '--annotate', '--message', `Sluice ${version}`, `v${version}`);
}

function git(...args: string[]): string {
  return run(['git', ...args], ROOT);
}

function run(command: readonly string[], cwd: string): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd, stdin: 'ignore' });
  if (exitCode !== 0) throw new Refusal(`${command.join(' ')} failed:\n${stderr.toString()}${stdout.toString()}`);
  return stdout.toString().trim();
}

function sha256(path: string): string {
  return new Bun.CryptoHasher('sha256').update(readFileSync(path)).digest('hex');
}
