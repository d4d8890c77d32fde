import { createHash } from 'node:crypto';

/**
 * What every key and channel of an installation begins with: several may use one Redis.
 * @param space the same for all programs of one installation and for no other: the service token.
 */
export const namespaceOf = (space: string): string => `sluice:${digestOf(space)}:`;

/** Secrets, callers and addresses are not written down in Redis. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 22);

/** Whether Redis answers, as the commands and looks of one connection show it. */
export interface RedisState {
  /** Null: nothing is known yet. */
  up(): boolean | null;
  set(up: boolean, reason: string): void;
  /** A failure of the work means that Redis does not answer. */
  watch<T>(work: Promise<T>): Promise<T>;
  /** From now on nobody is told of a change. */
  end(): void;
}

/** @param onChange is told when Redis is lost, with the reason, and when it is back. */
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
