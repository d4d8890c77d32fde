import { createSignal, getOwner, onCleanup } from 'solid-js';
import type { Call } from '#ui/src/api.ts';
import type { Output } from '#core/contract/index.ts';
import { browserTimers, type Timers } from '#ui/src/kernel/data/query.ts';
import { isPassing, toProblem } from '#ui/src/kernel/problem.ts';

/** Result of the last connection test; `checking` until there is one. */
export type Health =
  | { readonly state: 'checking' }
  | { readonly state: 'connected' | 'unreachable'; readonly result: Output<'connections.test'> }
  | { readonly state: 'unknown'; readonly reason: string };

export interface ConnectionHealth {
  readonly of: (id: string) => Health | undefined;
  /** It was never tested, or the result is too old. */
  readonly isDue: (id: string) => boolean;
  /** Tests these connections, a few at a time. */
  readonly check: (ids: readonly string[]) => Promise<void>;
}

/** A test opens a database session, so only a few run at once. */
const AT_ONCE = 4;

const OLD_MS = 5 * 60_000;
const RETRY_MS = 3_000;

/** Tests each connection once, and again while the server does not answer. */
export function createConnectionHealth(
  call: Call,
  { here = () => true, timers = browserTimers }: { here?: () => boolean; timers?: Timers } = {},
): ConnectionHealth {
  const [found, setFound] = createSignal<ReadonlyMap<string, Health>>(new Map());
  // A test of old settings can answer after a test of newer ones; only the last one counts.
  const latest = new Map<string, symbol>();
  const tested_at = new Map<string, number>();
  const lost = new Set<string>();
  let timer: unknown;
  if (getOwner() !== null) onCleanup(() => timers.clear(timer));

  const test = async (id: string) => {
    const attempt = Symbol(id);
    latest.set(id, attempt);
    tested_at.set(id, Date.now());
    lost.delete(id);
    const put = (health: Health) => {
      if (latest.get(id) === attempt) setFound((before) => new Map(before).set(id, health));
    };
    put({ state: 'checking' });
    try {
      const result = await call('connections.test', { id });
      put({ state: result.success ? 'connected' : 'unreachable', result });
    } catch (fault) {
      const problem = toProblem(fault);
      put({ state: 'unknown', reason: problem.detail });
      if (latest.get(id) === attempt && isPassing(problem)) askAgain(id, problem.retry_after);
    }
  };
  const askAgain = (id: string, retry_after = 0) => {
    lost.add(id);
    timers.clear(timer);
    const again = () => {
      if (here()) void check([...lost]);
      else timer = timers.set(again, RETRY_MS);
    };
    timer = timers.set(again, Math.max(RETRY_MS, retry_after * 1_000));
  };
  const check = async (ids: readonly string[]) => {
    const waiting = [...ids];
    const next = async (): Promise<void> => {
      const id = waiting.shift();
      if (id === undefined) return;
      await test(id);
      await next();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, next));
  };
  return {
    of: (id) => found().get(id),
    isDue: (id) => Date.now() - (tested_at.get(id) ?? -Infinity) > OLD_MS,
    check,
  };
}
