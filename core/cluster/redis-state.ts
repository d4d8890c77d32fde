import { createHash } from 'node:crypto';

/**
 * The prefix of every key and channel of an installation, as several may share one Redis.
 * @param space the service token, which all programs of one installation share and no others.
 */
export const namespaceOf = (space: string): string => `sluice:${digestOf(space)}:`;

/** Redis holds digests instead of secrets, callers and addresses. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 22);

/** Whether Redis answers, by the commands and probes of one connection. */
export interface RedisState {
  /** Null before the first answer. */
  up(): boolean | null;
  set(up: boolean, reason: string): void;
  /** Sets the state to down when the work fails. */
  watch<T>(work: Promise<T>): Promise<T>;
  /** No change is reported from now on. */
  end(): void;
}

/** @param onChange is called with the reason when Redis goes down, and when it is back. */
export function createRedisState(onChange: (up: boolean, reason: string) => void): RedisState {
  let up: boolean | null = null;
  let ended = false;
  const state: RedisState = {
    up: () => up,
    set(next, reason) {
      if (up === next || ended) return;
      up = next;
      onChange(next, reason);
    },
    async watch(work) {
      try {
        return await work;
      } catch (error) {
        state.set(false, messageOf(error));
        throw error;
      }
    },
    end: () => {
      ended = true;
    },
  };
  return state;
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
