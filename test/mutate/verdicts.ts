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

/** As many of the nearest runs try a change before it is found out what reaches it. */
const NEAREST = 3;

/**
 * Tries every change on the tests of the daily layer that it touches, and what they do not notice on the remaining ones of the full
 * layer. With probes, first what reaches which change, for all of them at once; then each is tried only on what reaches it. A few
 * changes are tried on the nearest tests before that.
 */
export async function tryChanges<C extends Change>(
  { trials, newest_port, say }: Context,
  changes: readonly C[],
  probes: Probes<C> | null,
): Promise<Verdict<C>[]> {
  const noticed: Verdict<C>[] = [];
  let rest = changes.map((change): Verdict<C> => ({ change, layer: null, by: null, passed: 0, left: 0 }));
  const tryOn = async (layer: Layer, runsOf: (change: C, index: number) => readonly Run[], is_last = true) => {
    const entries = [...rest.entries()];
    rest = [];
    await trials.each(entries, async ([index, before], tree) => {
      const { change } = before;
      const runs = inOrder(runsOf(change, index), change, (run) => trials.secondsOf(run));
      const { noticed: by, tried } = await trials.notice(tree, change.texts, is_last ? runs : runs.slice(0, NEAREST));
      const passed = before.passed + tried - (by === null ? 0 : 1);
      if (by !== null) noticed.push({ ...before, layer, by: titleOf(by), passed });
      else if (is_last) rest.push({ ...before, passed, left: before.left + runs.length - tried });
      else rest.push(before);
      if (by !== null) say(`✓ ${change.title}: ${titleOf(by)}`);
      else if (is_last) say(`· ${change.title}`);
    });
  };
  for (const layer of ['daily', 'full'] as const) {
    const touching = ({ texts }: C) =>
      touchedRuns([...texts.keys()], layer).flatMap((run) => inEnvironment(run, layer, newest_port));
    const allRuns = () => [...new Map(rest.flatMap(({ change }) => touching(change).map((run) => [titleOf(run), run]))).values()];
    say(`\n${layer} layer: ${rest.length} changes, ${allRuns().length} runs that may notice them`);
    if (probes === null) await tryOn(layer, touching);
    else {
      if (layer === 'daily' && 2 * NEAREST * rest.length < allRuns().length) await tryOn(layer, touching, false);
      const tried = rest.map(({ change }) => change);
      const reached = await trials.reach(allRuns(), (notes) => probes(tried, notes), say);
      await tryOn(layer, (change, index) => touching(change).filter((run) => reached.get(titleOf(run))?.has(index) ?? false));
    }
  }
  return [...noticed, ...rest];
}

/** Nothing for a run on PostgreSQL 18 where there is none. */
function inEnvironment(run: Run, layer: Layer, newest_port: number | null): Run[] {
  const environment = { ...run.environment, TEST_LAYER: layer };
  if (run.variant !== ON_POSTGRES_18) return [{ ...run, environment }];
  return newest_port === null ? [] : [{ ...run, environment: { ...environment, TEST_POSTGRES_PORT: String(newest_port) } }];
}
