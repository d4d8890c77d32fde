import { availableParallelism } from 'node:os';
import type { Report } from './run-batch.ts';

export interface Job {
  /** @param lane differs from that of every other job that runs at the same time. */
  readonly run: (lane: number) => Promise<readonly Report[]>;
  /** It leaves the processors to the others. */
  readonly waits?: boolean;
}

/** Lanes for jobs that wait, beside those for the processors. */
const BESIDE = 2;

/**
 * Runs jobs in their order, as many at a time as there are processors, and beside them two that wait. When none that waits is left,
 * `spare` of those two lanes take what the others take, because most files wait for a program or a page a good part of their time.
 */
export async function inParallel(jobs: readonly Job[], done: (report: Report) => void, spare: number): Promise<Report[]> {
  const queue = [...jobs.entries()];
  const reports: (readonly Report[])[] = [];
  const next = (prefers: boolean, only: boolean) => {
    const at = queue.findIndex(([, job]) => (job.waits ?? false) === prefers);
    return at < 0 && only ? undefined : queue.splice(Math.max(0, at), 1)[0];
  };
  const work = async (lane: number) => {
    const [prefers, only] = [lane < BESIDE, lane < BESIDE - spare];
    for (let taken = next(prefers, only); taken !== undefined; taken = next(prefers, only)) {
      const [index, job] = taken;
      const made = await job.run(lane);
      reports[index] = made;
      for (const report of made) done(report);
    }
  };
  const processors = Math.min(4, availableParallelism());
  await Promise.all(Array.from({ length: BESIDE + processors }, (_, lane) => work(lane)));
  return reports.flat();
}
