import type { Platform } from '#core/platform/platform.ts';
import type { Progress } from '#core/contract/observe/progress.ts';
import { getSealed, setSealed } from './sealed-kv.ts';

/** Nobody looks more often, and what is left by a server that was killed is soon forgotten. */
const EVERY_MS = 200;
const KEPT_MS = 30_000;

/** Tells of long work how far it is, over all servers. Nothing waits for it, and nothing fails with it. */
export interface ProgressNote {
  begin(step: Progress['step'], of: number): void;
  add(count: number): void;
  end(): void;
}

export function createProgressNote(app: Pick<Platform, 'kv' | 'keyring'>, key: string): ProgressNote {
  let now: Progress = { step: 'check', done: 0, of: 0 };
  let told_at = Number.NEGATIVE_INFINITY;
  const tell = (): void => {
    told_at = performance.now();
    setSealed(app, key, JSON.stringify(now), KEPT_MS).catch(() => undefined);
  };
  return {
    begin(step, of) {
      now = { step, done: 0, of };
      tell();
    },
    add(count) {
      now.done += count;
      if (now.done >= now.of || performance.now() - told_at >= EVERY_MS) tell();
    },
    end: () => void app.kv.delete(key).catch(() => undefined),
  };
}

export async function readProgress(app: Pick<Platform, 'kv' | 'keyring'>, key: string): Promise<Progress | null> {
  const text = await getSealed(app, key);
  return text === null ? null : (JSON.parse(text) as Progress);
}
