import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '#test/runner/layers.ts';
import type { Texts } from './change.ts';

/** A copy of the repository's files, where programs are changed and tests run. The packages are those of the repository. */
export interface Tree {
  readonly root: string;
  /** Differs from that of every other copy. */
  readonly lane: number;
  /** Works in the tree while its files hold these texts. @param pages whether the interface is built from them. */
  change<T>(texts: Texts, work: () => Promise<T>, pages?: boolean): Promise<T>;
}

/** What is not tracked and tests need: linked where they only read it. */
const PACKAGES = ['node_modules', 'test/clients/node_modules', 'test/servers/node_modules'];
const PAGES = 'ui/dist';

const folder = mkdtempSync(join(tmpdir(), 'sluice-mutate-'));

/** As many copies as are wanted, of all files as they are now, committed or not, but for those that git ignores. */
export function createTrees(count: number): Tree[] {
  // An index of its own leaves that of the repository alone.
  const index = { GIT_INDEX_FILE: join(folder, 'index') };
  git(['read-tree', 'HEAD'], index);
  git(['add', '--all'], index);
  const archive = join(folder, 'tree.tar');
  git(['archive', '--format=tar', `--output=${archive}`, git(['write-tree'], index).trim()]);
  return Array.from({ length: count }, (_, lane) => {
    const root = join(folder, `tree-${lane}`);
    mkdirSync(root);
    output(Bun.spawnSync(['tar', '-xf', archive, '-C', root]));
    for (const path of PACKAGES) if (existsSync(join(ROOT, path))) symlinkSync(join(ROOT, path), join(root, path));
    if (existsSync(join(ROOT, PAGES))) cpSync(join(ROOT, PAGES), join(root, PAGES), { recursive: true });
    return createTree(root, lane);
  });
}

function createTree(root: string, lane: number): Tree {
  const dist = join(root, PAGES);
  const [built, stored] = [join(root, '.built'), join(root, '.stored')];
  /** What the pages in `built` were built from. */
  let built_from: Texts | null = null;
  const build = async (texts: Texts) => {
    const child = Bun.spawn(
      [process.execPath, 'node_modules/vite/bin/vite.js', 'build', 'ui', '--outDir', built, '--emptyOutDir'],
      {
        cwd: root,
        stdio: ['ignore', 'ignore', 'ignore'],
      },
    );
    if ((await child.exited) === 0) built_from = texts;
  };
  return {
    root,
    lane,
    async change(texts, work, pages = false) {
      const originals = [...texts.keys()].map((path) => [path, readFileSync(join(root, path), 'utf8')] as const);
      const write = (entries: Iterable<readonly [string, string]>) => {
        for (const [path, text] of entries) writeFileSync(join(root, path), text);
      };
      let exchanged = false;
      write(texts);
      try {
        if (pages && built_from !== texts) await build(texts);
        if (pages && built_from === texts) {
          renameSync(dist, stored);
          renameSync(built, dist);
          exchanged = true;
        }
        return await work();
      } finally {
        write(originals);
        if (exchanged) {
          renameSync(dist, built);
          renameSync(stored, dist);
        }
      }
    },
  };
}

export const removeTrees = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });

/** Runs git in the repository, whose files and references stay as they are. */
export const git = (args: readonly string[], environment: Readonly<Record<string, string>> = {}): string =>
  output(Bun.spawnSync(['git', ...args], { cwd: ROOT, env: { ...process.env, ...environment } }));

function output({ success, stdout, stderr }: Bun.SyncSubprocess<'pipe', 'pipe'>): string {
  if (!success) throw new Error(stderr.toString().trim());
  return stdout.toString();
}
