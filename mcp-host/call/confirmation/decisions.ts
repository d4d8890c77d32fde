import { createExpiringMap } from '#core/lib/recent-map.ts';
import type { DecisionEvent } from '#core/contract/deploy/control.ts';
import type { StopSignal } from '#core/engines/shared/stop.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';

/** Decisions of people on the confirmation page, as received from the server. */
export interface Decisions {
  /** Stores a decision. Only the first one on a question counts. */
  take(news: DecisionEvent): void;
  /** Waits at most `within_ms` for the decision; null: none arrived, or the call ended. */
  of(nonce: string, within_ms: number, end: StopSignal): Promise<boolean | null>;
}

/** More than the questions that are open at one time. */
const MOST_DECISIONS = 10_000;

/** @param lasts_ms longer than a question is open. */
export function createDecisions(now: () => number, lasts_ms: number): Decisions {
  const decided = createExpiringMap<boolean>(now, MOST_DECISIONS);
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
