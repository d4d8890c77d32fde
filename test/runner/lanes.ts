import { availableParallelism } from 'node:os';
import type { Report } from './run-batch.ts';

export interface Job {
  /** @param lane differs from that of every other job that runs at the same time. */
  readonly run: (lane: number) => Promise<readonly Report[]>;
  /** It leaves the processors to the others. */
  readonly waits?: boolean;
}

/**
 * Runs jobs in their order, as many at a time as there are processors, and beside them two that wait. When none that waits is left,
 * one of those two lanes takes what the others take, and the second one ends.
 */
export async function inParallel(jobs: readonly Job[], done: (report: Report) => void): Promise<Report[]> {
  const queue = [...jobs.entries()];
  const reports: (readonly Report[])[] = [];
  const next = (prefers: boolean, only: boolean) => {
    const at = queue.findIndex(([, job]) => (job.waits ?? false) === prefers);
    return at < 0 && only ? undefined : queue.splice(Math.max(0, at), 1)[0];
  };
  const work = async (lane: number, prefers: boolean, only = false) => {
    for (let taken = next(prefers, only); taken !== undefined; taken = next(prefers, only)) {
      const [index, job] = taken;
      const made = await job.run(lane);
      reports[index] = made;
      for (const report of made) done(report);
    }
  };
  const processors = Math.min(4, availableParallelism());
  const working = Array.from({ length: processors }, (_, n) => work(n + 1, false));
  await Promise.all([...working, work(0, true), work(processors + 1, true, true)]);
  return reports.flat();
}
