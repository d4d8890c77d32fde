import { createExpiringMap } from '#core/lib/expiring-map.ts';
import type { DecisionEvent } from '#core/contract/deploy/control.ts';
import type { StopSignal } from '#core/engines/shared/stop.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';

/** What people decided on the page, as the server told this host. */
export interface Decisions {
  /** The first word on a question counts. */
  take(news: DecisionEvent): void;
  /** What was decided, or is within so many milliseconds; null: nothing, or the call ended. */
  of(nonce: string, within_ms: number, end: StopSignal): Promise<boolean | null>;
}

/** More than are asked within the life of a question. */
const KEPT = 10_000;

/** @param lasts_ms longer than a question counts. */
export function createDecisions(now: () => number, lasts_ms: number): Decisions {
  const decided = createExpiringMap<boolean>(now, KEPT);
  const waiting = new Map<string, Set<(approved: boolean | null) => void>>();
  return {
    take({ nonce, approved }) {
      if (decided.get(nonce) !== undefined) return;
      decided.set(nonce, approved, now() + lasts_ms);
      for (const tell of waiting.get(nonce) ?? []) tell(approved);
    },
    async of(nonce, within_ms, end) {
      const known = decided.get(nonce);
      if (known !== undefined || within_ms <= 0 || end.aborted) return known ?? null;
      const { promise, resolve } = Promise.withResolvers<boolean | null>();
      const leave = () => resolve(null);
      const of_nonce = waiting.get(nonce) ?? new Set();
      waiting.set(nonce, of_nonce.add(resolve));
      end.addEventListener('abort', leave);
      try {
        return await withTimeout(promise, within_ms, () => null);
      } finally {
        end.removeEventListener('abort', leave);
        of_nonce.delete(resolve);
        if (of_nonce.size === 0) waiting.delete(nonce);
      }
    },
  };
}
