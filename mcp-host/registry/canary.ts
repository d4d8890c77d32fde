import { createHmac } from 'node:crypto';
import type { CanaryEvent } from '#core/contract/deploy/control.ts';
import type { CallSide, Registry } from './registry.ts';

/** Two configurations that are served at one address to different callers. */
export interface Canary {
  readonly id: string;
  /** The registry for callers of the canary. */
  readonly registry: Registry;
  readonly live: CallSide;
  /** Whether a caller gets the canary: the same answer on every host, from the start of the canary to its end. */
  isChosen(key: string): boolean;
}

const SHARES = 2 ** 32;

export function createCanary({ id, percent, seed }: Omit<CanaryEvent, 'candidate'>, registry: Registry): Canary {
  const below = (percent / 100) * SHARES;
  return {
    id,
    registry: { ...registry, side: { id, side: 'canary' } },
    live: { id, side: 'live' },
    isChosen: (key) => createHmac('sha256', seed).update(key).digest().readUInt32BE(0) < below,
  };
}

/** The registry for a caller. */
export const chosen = (live: Registry, canary: Canary, key: string): Registry => (canary.isChosen(key) ? canary.registry : live);
