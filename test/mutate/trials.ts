import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Texts } from './change.ts';
import { type Run, titleOf } from '#test/runner/batches.ts';
import type { Tree } from './trees.ts';
import { type Trial, tryRun } from './trial.ts';

export interface Verdict {
  /** The run that failed because of the change. */
  readonly noticed: Run | null;
  /** How many runs were tried; fewer than there are when they took longer than they may. */
  readonly tried: number;
}

export interface Trials {
  /** Tries the runs in their order until one fails with the change and passes without it. */
  notice(tree: Tree, texts: Texts, runs: readonly Run[]): Promise<Verdict>;
  /** By the title of a run, what it reaches of what notes its number when it runs; the programs behave as before. */
  reach(
    runs: readonly Run[],
    probed: (notes: string) => Texts,
    say: (line: string) => void,
  ): Promise<ReadonlyMap<string, ReadonlySet<number>>>;
  /** Works on items in all trees, one at a time in each. */
  each<T>(items: readonly T[], work: (item: T, tree: Tree) => Promise<void>): Promise<void>;
  secondsOf(run: Run): number;
  processorSeconds(): number;
  /** Runs that fail without any change. */
  broken(): readonly string[];
}

/** What the pages are built from, beside packages. */
const IN_PAGES = /^(ui|core\/(contract|lib))\/|^core\/[\w-]+\.ts$/;
const SAID_EVERY = 25;
const NOTES = '.reached';
/** Of a run that nothing is known of. */
const LIMIT_MS = 180_000;
const PATIENCE = 4;
const LEAST_LIMIT_MS = 20_000;

/** @param most_seconds of the processor for one change. */
export function createTrials(
  trees: readonly Tree[],
  environment: Readonly<Record<string, string>>,
  most_seconds: number,
): Trials {
  const seconds = new Map<string, number>();
  const healthy = new Map<string, Promise<boolean>>();
  const broken = new Set<string>();
  let spent = 0;

  const limitOf = (run: Run) => {
    const known = seconds.get(titleOf(run));
    return known === undefined ? LIMIT_MS : Math.max(LEAST_LIMIT_MS, PATIENCE * known * 1_000);
  };
  const attempt = async (tree: Tree, run: Run, bails = true): Promise<Trial> => {
    const trial = await tryRun(tree, run, { environment, limit_ms: limitOf(run), bails });
    spent += trial.processor_seconds;
    if (!trial.failed) {
      seconds.set(titleOf(run), trial.seconds);
      healthy.set(titleOf(run), Promise.resolve(true));
    }
    return trial;
  };
  /** In a tree without a change. */
  const isHealthy = (tree: Tree, run: Run): Promise<boolean> => {
    const known = healthy.get(titleOf(run));
    if (known !== undefined) return known;
    const answer = attempt(tree, run).then(({ failed }) => {
      if (failed) broken.add(titleOf(run));
      return !failed;
    });
    healthy.set(titleOf(run), answer);
    return answer;
  };
  const each: Trials['each'] = async (items, work) => {
    const rest = [...items];
    await Promise.all(
      trees.map(async (tree) => {
        for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item, tree);
      }),
    );
  };

  return {
    each,
    async notice(tree, texts, runs) {
      let tried = 0;
      let used = 0;
      for (const run of runs) {
        if (broken.has(titleOf(run))) continue;
        if (used > most_seconds) break;
        const pages = run.file.startsWith('test/e2e/') && [...texts.keys()].some((path) => IN_PAGES.test(path));
        const trial = await tree.change(texts, () => attempt(tree, run), pages);
        tried++;
        used += trial.processor_seconds;
        if (trial.failed && (await isHealthy(tree, run))) return { noticed: run, tried };
      }
      return { noticed: null, tried };
    },
    async reach(runs, probed, say) {
      const reached = new Map<string, ReadonlySet<number>>();
      await each(runs, async (run, tree) => {
        const notes = join(tree.root, NOTES);
        rmSync(notes, { force: true });
        const trial = await tree.change(probed(notes), () => attempt(tree, run, false));
        const numbers = existsSync(notes) ? readFileSync(notes, 'utf8').trim().split(' ').map(Number) : [];
        reached.set(titleOf(run), new Set(numbers));
        if (reached.size % SAID_EVERY === 0) say(`  ${reached.size} of ${runs.length} runs seen`);
        // Some tests compare the text of programs.
        if (trial.failed && numbers.length > 0) await isHealthy(tree, run);
      });
      return reached;
    },
    secondsOf: (run) => seconds.get(titleOf(run)) ?? 1,
    processorSeconds: () => spent,
    broken: () => [...broken],
  };
}
