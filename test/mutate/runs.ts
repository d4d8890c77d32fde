import { type Run, titleOf } from '#test/runner/batches.ts';
import { touchedBy } from '#test/runner/changed.ts';
import { isIn, isLong, type Layer } from '#test/runner/layers.ts';
import { allTestFiles, planned } from '#test/runner/plan.ts';
import type { Change } from './change.ts';

const files = allTestFiles().filter((file) => !isLong(file));

/** What a layer runs of the tests that a change of these files touches; of the full layer, what the daily one does not run. */
export function touchedRuns(paths: readonly string[], layer: Layer): Run[] {
  const touched = touchedBy(paths);
  const those = files.filter((file) => touched.includes('') || isIn(file, touched));
  const { runs } = planned(those, layer);
  if (layer === 'daily') return runs;
  const daily = new Set(planned(those, 'daily').runs.map(titleOf));
  return runs.filter((run) => !daily.has(titleOf(run)));
}

/** Whatever is likely to notice a change soon first: tests of the same name, then quick ones, each folder that is shared making them likelier. */
export function inOrder(runs: readonly Run[], { texts, likely }: Change, secondsOf: (run: Run) => number): Run[] {
  const likelihood = ({ file }: Run) =>
    likely.includes(file) ? Infinity : 4 ** Math.max(...[...texts.keys()].map((path) => closeness(file, path)));
  const rank = (run: Run) => secondsOf(run) / likelihood(run);
  return runs.toSorted((a, b) => rank(a) - rank(b));
}

/** How many parts of a test's path are those of a program's; the name counts thrice. */
export function closeness(test: string, program: string): number {
  const [tested, parts] = [partsOf(test.replace(/\.test\.tsx?$/, '')), partsOf(program.replace(/\.tsx?$/, ''))];
  const differs = parts.findIndex((part, at) => tested[at] !== part);
  return differs < 0 ? parts.length + 2 : differs;
}

/** `core` and `server` are tested as one. */
const partsOf = (path: string): string[] =>
  path
    .replace(/^test\//, '')
    .replace(/^(core|server)\//, '')
    .split('/');
