import { untilAborted, withDeadline } from '#core/engines/shared/deadline.ts';
import type { Context } from '#core/context/context.ts';

/** Specification section 8. */
const TIMEOUT_MS = 10_000;

/**
 * All that a preview asks of a database, within one limit: the statement itself has what its preparation left, and ends when its caller
 * leaves.
 * @param work is given the milliseconds that are left.
 */
export function withinPreview<Result>(
  { signal }: Pick<Context, 'signal'>,
  work: (signal: AbortSignal, left: () => number) => Promise<Result>,
): Promise<Result> {
  const ends = performance.now() + TIMEOUT_MS;
  const left = () => Math.max(1, Math.ceil(ends - performance.now()));
  return withDeadline(TIMEOUT_MS, signal, (stop) => untilAborted(stop, work(stop, left)));
}
