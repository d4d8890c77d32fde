import type { Platform } from '#core/platform/platform.ts';
import type { Progress } from '#core/contract/observe/progress.ts';
import { getSealed, setSealed } from './sealed-kv.ts';

/** Minimum interval between stored updates. They expire soon if the server is killed. */
const EVERY_MS = 200;
const TTL_MS = 30_000;

/** Reports the progress of long work to all servers. Callers do not wait for it, and its errors do not fail the work. */
export interface ProgressNote {
  begin(step: Progress['step'], of: number): void;
  add(count: number): void;
  end(): void;
}

export function createProgressNote(app: Pick<Platform, 'kv' | 'keyring'>, key: string): ProgressNote {
  let now: Progress = { step: 'check', done: 0, of: 0 };
  let sent_at = Number.NEGATIVE_INFINITY;
  const tell = (): void => {
    sent_at = performance.now();
    setSealed(app, key, JSON.stringify(now), TTL_MS).catch(() => undefined);
  };
  return {
    begin(step, of) {
      now = { step, done: 0, of };
      tell();
    },
    add(count) {
      now.done += count;
      if (now.done >= now.of || performance.now() - sent_at >= EVERY_MS) tell();
    },
    end: () => void app.kv.delete(key).catch(() => undefined),
  };
}

export async function readProgress(app: Pick<Platform, 'kv' | 'keyring'>, key: string): Promise<Progress | null> {
  const text = await getSealed(app, key);
  return text === null ? null : (JSON.parse(text) as Progress);
}
