import { availableParallelism } from 'node:os';
import type { Report } from './run-batch.ts';

export interface Job {
  /** @param lane differs from that of every other job that runs at the same time. */
  readonly run: (lane: number) => Promise<readonly Report[]>;
  /** It leaves the processors to the others. */
  readonly waits?: boolean;
}

/** Most files wait for a program, a page or a database a good part of their time. */
const BESIDE = 2;

/**
 * Runs jobs in their order, two more at a time than there are processors. Those two take jobs that wait first, the others take them
 * last.
 */
export async function inParallel(jobs: readonly Job[], done: (report: Report) => void): Promise<Report[]> {
  const queue = [...jobs.entries()];
  const reports: (readonly Report[])[] = [];
  const next = (prefers: boolean) => {
    const at = queue.findIndex(([, job]) => (job.waits ?? false) === prefers);
    return queue.splice(Math.max(0, at), 1)[0];
  };
  const work = async (lane: number, prefers: boolean) => {
    for (let taken = next(prefers); taken !== undefined; taken = next(prefers)) {
      const [index, job] = taken;
      const made = await job.run(lane);
      reports[index] = made;
      for (const report of made) done(report);
    }
  };
  const processors = Math.min(4, availableParallelism());
  await Promise.all(Array.from({ length: processors + BESIDE }, (_, lane) => work(lane, lane < BESIDE)));
  return reports.flat();
}
