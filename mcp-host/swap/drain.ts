import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '#core/errors.ts';
import type { RunningCalls } from '#mcp-host/call/deadline.ts';

/** Waits until the calls that run now have ended, and those that are still arriving; the rest is cancelled after the grace. */
export async function drain(
  { all, arriving }: Pick<RunningCalls, 'all' | 'arriving'>,
  grace_ms: number,
  reason: string,
): Promise<void> {
  const mine = new Set(all);
  const late = new Set(arriving);
  const deadline = performance.now() + grace_ms;
  while (mine.size + late.size > 0 && performance.now() < deadline) {
    await sleep(10);
    for (const call of mine) if (!all.has(call)) mine.delete(call);
    if (late.size === 0) continue;
    for (const call of all) if (late.has(call.record.exchange.request)) mine.add(call);
    for (const request of late) if (!arriving.has(request)) late.delete(request);
  }
  for (const call of mine) call.abort(new AppError('unavailable', reason));
  for (const request of late) arriving.delete(request);
}
