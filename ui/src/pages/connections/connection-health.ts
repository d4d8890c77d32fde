import { createSignal } from 'solid-js';
import type { Call } from '#ui/src/api.ts';
import type { Output } from '#core/contract/index.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';

/** What the last test of a connection came to; `checking` until there is one. */
export type Health =
  | { readonly state: 'checking' }
  | { readonly state: 'connected' | 'unreachable'; readonly result: Output<'connections.test'> }
  | { readonly state: 'unknown'; readonly reason: string };

export interface ConnectionHealth {
  readonly of: (id: string) => Health | undefined;
  /** Tests these connections, a few at a time. */
  readonly check: (ids: readonly string[]) => Promise<void>;
}

/** A test opens a session: a page of connections does not open as many at once. */
const AT_ONCE = 4;

/** Whether the databases of connections answer, asked once for each. */
export function createConnectionHealth(call: Call): ConnectionHealth {
  const [found, setFound] = createSignal<ReadonlyMap<string, Health>>(new Map());
  // A test of earlier settings can answer after the test of what was saved since: only the last one counts.
  const latest = new Map<string, symbol>();
  const test = async (id: string) => {
    const own = Symbol(id);
    latest.set(id, own);
    const put = (health: Health) => {
      if (latest.get(id) === own) setFound((before) => new Map(before).set(id, health));
    };
    put({ state: 'checking' });
    try {
      const result = await call('connections.test', { id });
      put({ state: result.success ? 'connected' : 'unreachable', result });
    } catch (fault) {
      put({ state: 'unknown', reason: toProblem(fault).detail });
    }
  };
  return {
    of: (id) => found().get(id),
    async check(ids) {
      const waiting = [...ids];
      const next = async (): Promise<void> => {
        const id = waiting.shift();
        if (id === undefined) return;
        await test(id);
        await next();
      };
      await Promise.all(Array.from({ length: AT_ONCE }, next));
    },
  };
}
