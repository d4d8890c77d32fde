import { networkOf } from '#core/edge/client-address.ts';
import { createExpiringMap } from '#core/lib/recent-map.ts';
import type { Refusal } from './scheme.ts';

/** Failed attempts of each address within a minute, in memory. */
export interface Attempts {
  /** Seconds until the address may try again; 0: now. */
  blocked(address: string): number;
  /** Counts a failed attempt. */
  note(address: string): void;
  /**
   * Takes a slot for an expensive attempt. An address runs at most as many attempts at once as may still fail; the others wait.
   * Null: the attempt may start, and the caller has to call `leave` when it is over, after `note`.
   */
  enter(address: string): Promise<Refusal | null>;
  leave(address: string): void;
}

/** Attempts of one address: the number of running ones, and the waiting ones, oldest first. */
interface AttemptQueue {
  checking: number;
  readonly waiting: ((refusal: Refusal | null) => void)[];
}

const WINDOW_MS = 60_000;
const ADDRESSES = 10_000;
/** Most waiting attempts of one address. */
const WAITING = 1_000;

const FULL: Refusal = {
  status: 503,
  message: 'Too many access tokens from this address are being checked. Try again in a moment.',
  retry_after: 1,
};
export const tooMany = (seconds: number): Refusal => ({
  status: 429,
  message: 'Too many failed attempts came from this address. Try again later.',
  retry_after: seconds,
});

/** @param now monotonic, in ms, so that a change of the clock does not lengthen a block. */
export function createAttempts(now: () => number, limit = 60): Attempts {
  const windows = createExpiringMap<{ count: number; readonly ends: number }>(now, ADDRESSES);
  const lines = new Map<string, AttemptQueue>();

  const failed = (network: string): number => windows.get(network)?.count ?? 0;
  const refusal = (network: string): Refusal | null => {
    const window = windows.get(network);
    if (window === undefined || window.count < limit) return null;
    return tooMany(Math.max(1, Math.ceil((window.ends - now()) / 1_000)));
  };
  return {
    blocked: (address) => refusal(networkOf(address))?.retry_after ?? 0,
    note(address) {
      const network = networkOf(address);
      const window = windows.get(network);
      if (window !== undefined) window.count++;
      else windows.set(network, { count: 1, ends: now() + WINDOW_MS }, now() + WINDOW_MS);
    },
    async enter(address) {
      const network = networkOf(address);
      const refused = refusal(network);
      if (refused !== null) return refused;
      const line = lines.get(network) ?? { checking: 0, waiting: [] };
      if (line.waiting.length >= WAITING) return FULL;
      if (line.checking + failed(network) >= limit) return new Promise((resolve) => void line.waiting.push(resolve));
      line.checking++;
      lines.set(network, line);
      return null;
    },
    leave(address) {
      const network = networkOf(address);
      const line = lines.get(network);
      if (line === undefined) return;
      line.checking--;
      const refused = refusal(network);
      if (refused !== null) for (const resolve of line.waiting.splice(0)) resolve(refused);
      while (line.waiting.length > 0 && line.checking + failed(network) < limit) {
        line.checking++;
        line.waiting.shift()?.(null);
      }
      if (line.checking === 0) lines.delete(network);
    },
  };
}
