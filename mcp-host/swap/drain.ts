import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '#core/errors.ts';
import type { Stop } from '#core/engines/shared/stop.ts';

type Running = Pick<Stop, 'abort'>;

/** Waits until the calls that run now have ended; the rest is cancelled after the grace. */
export async function drain(running: ReadonlySet<Running>, grace_ms: number, reason: string): Promise<void> {
  const mine = new Set(running);
  const deadline = performance.now() + grace_ms;
  while (mine.size > 0 && performance.now() < deadline) {
    await sleep(10);
    for (const call of mine) if (!running.has(call)) mine.delete(call);
  }
  for (const call of mine) call.abort(new AppError('unavailable', reason));
}
