import { readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ROOT } from '#test/runner/layers.ts';
import type { Change } from './change.ts';
import { git, type Tree } from './trees.ts';
import type { Types } from './types.ts';

/** A commit that repaired the product, undone. */
export interface Undone extends Change {
  readonly hunks: number;
  /** Those that are undone: the others no longer apply, add a file, or leave a program that the checks of types refuse. */
  readonly undone: number;
}

const PRODUCT = /^(agent|core|mcp-host|server|snapshots|ui\/src)\/.*\.(css|tsx?)$/;

/** The newest commits that say they are fixes and change the product, undone one by one in a tree that is as before afterwards. */
export async function undoFixes(count: number, tree: Tree, types: Types): Promise<Undone[]> {
  const found: Undone[] = [];
  const commits = git(['log', '--no-merges', '--format=%h %s']).split('\n');
  for (const [, commit = '', subject = ''] of commits.flatMap((line) => [/^(\w+) (fix(?:\(.*?\))?: .*)/.exec(line) ?? []])) {
    if (found.length === count) break;
    const paths = commit === '' ? [] : git(['diff', '--name-only', '--no-renames', `${commit}^`, commit]).split('\n');
    const hunks = paths.filter((path) => PRODUCT.test(path)).flatMap((path) => hunksOf(commit, path));
    if (hunks.length === 0) continue;
    const likely = paths.filter((path) => /^test\/.*\.test\.tsx?$/.test(path));
    const undone = await undo(hunks, tree, types);
    found.push({ title: `${commit} ${subject}`, likely, hunks: hunks.length, ...undone });
  }
  return found;
}

interface Hunk {
  readonly path: string;
  /** A patch of this hunk alone. */
  readonly patch: string;
}

function hunksOf(commit: string, path: string): Hunk[] {
  const [header = '', ...hunks] = git(['diff', '--no-renames', `${commit}^`, commit, '--', path]).split(/^(?=@@ )/m);
  return hunks.map((hunk) => ({ path, patch: header + hunk }));
}

/** Undoes all that applies; when types forbid that, what they allow of it, from the first hunk on. */
async function undo(hunks: readonly Hunk[], tree: Tree, types: Types): Promise<Pick<Undone, 'texts' | 'undone'>> {
  const originals = new Map<string, string>();
  const all = new Map<string, string>();
  try {
    let undone = 0;
    for (const hunk of hunks) if (reversed(hunk, tree, originals, all)) undone++;
    if (await types.agreeWith(all, usersOf([...all.keys()]))) return { texts: all, undone };
    restore(tree, originals);
    const allowed = new Map<string, string>();
    undone = 0;
    for (const hunk of hunks) {
      const next = new Map(allowed);
      if (!reversed(hunk, tree, originals, next)) continue;
      if (await types.agreeWith(next, usersOf([hunk.path]))) {
        undone++;
        for (const [path, text] of next) allowed.set(path, text);
      } else writeFileSync(join(tree.root, hunk.path), allowed.get(hunk.path) ?? originals.get(hunk.path) ?? '');
    }
    return { texts: allowed, undone };
  } finally {
    restore(tree, originals);
  }
}

/** Whether the hunk could be undone in the tree; what its file then holds is among `texts`. */
function reversed({ path, patch }: Hunk, tree: Tree, originals: Map<string, string>, texts: Map<string, string>): boolean {
  if (/^(new|deleted) file mode/m.test(patch)) return false;
  const file = join(tree.root, path);
  try {
    if (!originals.has(path)) originals.set(path, readFileSync(file, 'utf8'));
  } catch {
    // It was moved since.
    return false;
  }
  const apply = ['git', 'apply', '-R', '-C1', '--recount', '-'];
  // The tree is no repository, and in none.
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(tree.root) };
  const { success } = Bun.spawnSync(apply, { cwd: tree.root, stdin: Buffer.from(patch), env });
  if (success) texts.set(path, readFileSync(file, 'utf8'));
  return success;
}

function restore(tree: Tree, originals: ReadonlyMap<string, string>): void {
  for (const [path, text] of originals) writeFileSync(join(tree.root, path), text);
}

/** Programs and tests that import one of these. */
function usersOf(paths: readonly string[]): string[] {
  if (paths.length === 0) return [];
  const names = paths.flatMap((path) => ['-e', `/${basename(path)}'`]);
  const { stdout } = Bun.spawnSync(['git', 'grep', '-F', ...names, '--', '*.ts', '*.tsx'], { cwd: ROOT });
  const lines = stdout.toString().split('\n');
  const users = lines.flatMap((line) => {
    const [, user = '', name = ''] = /^(.+?):.*['"]([#.][^'"]*)['"]/.exec(line) ?? [];
    return paths.includes(name.startsWith('#') ? name.slice(1) : join(dirname(user), name)) ? [user] : [];
  });
  return [...new Set(users)];
}
