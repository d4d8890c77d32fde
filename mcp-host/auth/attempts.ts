import ipaddr from 'ipaddr.js';
import { createExpiring } from './expiring.ts';

/** Failed attempts of each address within a minute, in memory. */
export interface Attempts {
  /** Seconds until the address may try again; 0: now. */
  blocked(address: string): number;
  note(address: string): void;
  /** Takes a noted attempt back: it was none of guessing. */
  forgive(address: string): void;
}

const WINDOW_MS = 60_000;
const ADDRESSES = 10_000;

export function createAttempts(now: () => number, limit = 60): Attempts {
  const windows = createExpiring<{ count: number; readonly ends: number }>(now, ADDRESSES);
  return {
    blocked(address) {
      const window = windows.get(networkOf(address));
      return window === undefined || window.count < limit ? 0 : Math.max(1, Math.ceil((window.ends - now()) / 1_000));
    },
    note(address) {
      const network = networkOf(address);
      const window = windows.get(network);
      if (window !== undefined) window.count++;
      else windows.set(network, { count: 1, ends: now() + WINDOW_MS }, now() + WINDOW_MS);
    },
    forgive(address) {
      const window = windows.get(networkOf(address));
      if (window !== undefined) window.count--;
    },
  };
}

/** One machine of IPv6 has a whole /64 to come from. */
function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(':') : parsed.toString();
}
