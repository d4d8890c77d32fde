import { type Run, titleOf } from '#test/runner/batches.ts';
import { type Layer, ON_POSTGRES_18 } from '#test/runner/layers.ts';
import type { Change, Texts } from './change.ts';
import { inOrder, touchedRuns } from './runs.ts';
import type { Trials } from './trials.ts';

/** How a change fared: the layer that noticed it and the run that did, or neither. */
export interface Verdict<C extends Change> {
  readonly change: C;
  readonly layer: Layer | null;
  readonly by: string | null;
  /** Runs that passed with it. */
  readonly passed: number;
  /** Runs that there was no time for. */
  readonly left: number;
}

export interface Context {
  readonly trials: Trials;
  /** Of PostgreSQL 18, where its tests can run. */
  readonly newest_port: number | null;
  readonly say: (line: string) => void;
}

/** The programs with notes of which change would run, by its index. */
export type Probes<C extends Change> = (changes: readonly C[], notes: string) => Texts;

/**
 * Tries every change on the tests of the daily layer that it touches, and what they do not notice on the remaining ones of the full
 * layer. With probes, first what reaches which change, for all of them at once; then each is tried only on what reaches it.
 */
export async function tryChanges<C extends Change>(
  { trials, newest_port, say }: Context,
  changes: readonly C[],
  probes: Probes<C> | null,
): Promise<Verdict<C>[]> {
  const noticed: Verdict<C>[] = [];
  let rest = changes.map((change): Verdict<C> => ({ change, layer: null, by: null, passed: 0, left: 0 }));
  for (const layer of ['daily', 'full'] as const) {
    const entries = rest.map((before, index) => ({
      before,
      index,
      runs: touchedRuns([...before.change.texts.keys()], layer).flatMap((run) => inEnvironment(run, layer, newest_port)),
    }));
    const all = [...new Map(entries.flatMap(({ runs }) => runs.map((run) => [titleOf(run), run] as const))).values()];
    say(`\n${layer} layer: ${rest.length} changes, ${all.length} runs that may notice them`);
    const tried = rest.map(({ change }) => change);
    const reached = probes === null ? null : await trials.reach(all, (notes) => probes(tried, notes), say);
    const reaches = (run: Run, index: number) => reached === null || (reached.get(titleOf(run))?.has(index) ?? false);
    rest = [];
    await trials.each(entries, async ({ before, index, runs }, tree) => {
      const { change } = before;
      const ordered = inOrder(
        runs.filter((run) => reaches(run, index)),
        change,
        (run) => trials.secondsOf(run),
      );
      const { noticed: by, tried: count } = await trials.notice(tree, change.texts, ordered);
      const passed = before.passed + count - (by === null ? 0 : 1);
      if (by === null) rest.push({ ...before, passed, left: before.left + ordered.length - count });
      else noticed.push({ ...before, layer, by: titleOf(by), passed });
      say(`${by === null ? '·' : '✓'} ${change.title}${by === null ? '' : `: ${titleOf(by)}`}`);
    });
  }
  return [...noticed, ...rest];
}

/** Nothing for a run on PostgreSQL 18 where there is none. */
function inEnvironment(run: Run, layer: Layer, newest_port: number | null): Run[] {
  const environment = { ...run.environment, TEST_LAYER: layer };
  if (run.variant !== ON_POSTGRES_18) return [{ ...run, environment }];
  return newest_port === null ? [] : [{ ...run, environment: { ...environment, TEST_POSTGRES_PORT: String(newest_port) } }];
}
