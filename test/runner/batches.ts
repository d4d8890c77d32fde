import { isAlone, isWaiting } from './layers.ts';

/** One test file in one environment. */
export interface Run {
  readonly file: string;
  /** Says which environment, behind the file's name. */
  readonly variant: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Runs that share one process: its start and the loading of what they all import are paid once. */
export interface Batch {
  readonly runs: readonly [Run, ...Run[]];
  /** Processor seconds, as far as they are recorded. */
  readonly cost: number;
  readonly waits: boolean;
}

export const titleOf = ({ file, variant }: Run): string => `${file}${variant}`;

/** Long enough for the start of a process to be nothing, short enough for all processors to end at the same time. */
const BATCH_SECONDS = 20;
/** Files in a browser share its start and that of the products as well. */
const BROWSER_BATCH_SECONDS = 60;
/** What a file costs that no run has recorded. */
const UNKNOWN_SECONDS = 1;
const UNKNOWN_BROWSER_SECONDS = 8;
const isInBrowser = ({ file }: Run): boolean => file.startsWith('test/e2e/');

/** Files of one environment and one folder share processes, longest first. */
export function toBatches(runs: readonly Run[], costs: Readonly<Record<string, number>>): Batch[] {
  const groups = new Map<string, Run[]>();
  for (const run of runs) groups.set(processOf(run), [...(groups.get(processOf(run)) ?? []), run]);
  const costOf = (run: Run) => costs[titleOf(run)] ?? (isInBrowser(run) ? UNKNOWN_BROWSER_SECONDS : UNKNOWN_SECONDS);
  return [...groups.values()].flatMap((group) => split(group, costOf)).toSorted((a, b) => b.cost - a.cost);
}

function processOf(run: Run): string {
  if (isAlone(run.file) || isWaiting(run.file)) return titleOf(run);
  const [, folder = ''] = run.file.split('/');
  return `${run.variant} ${folder}`;
}

/** The longest first, each to the batch that has least. */
function split(runs: readonly Run[], costOf: (run: Run) => number): Batch[] {
  const total = runs.reduce((sum, run) => sum + costOf(run), 0);
  const seconds = runs.some(isInBrowser) ? BROWSER_BATCH_SECONDS : BATCH_SECONDS;
  const bins = Array.from({ length: Math.max(1, Math.ceil(total / seconds)) }, () => ({ runs: [] as Run[], cost: 0 }));
  for (const run of runs.toSorted((a, b) => costOf(b) - costOf(a))) {
    const bin = bins.reduce((least, other) => (other.cost < least.cost ? other : least));
    bin.runs.push(run);
    bin.cost += costOf(run);
  }
  return bins.flatMap(({ runs: [first, ...rest], cost }) =>
    first === undefined ? [] : [{ runs: [first, ...rest], cost, waits: isWaiting(first.file) }],
  );
}
