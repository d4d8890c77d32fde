import { mkdirSync, rmSync, statSync, utimesSync } from 'node:fs';

/** Milliseconds after which a lock that nobody renews belongs to nobody. */
const STALE = 10_000;
const RENEW = 2_000;

/** A lock between processes, of one machine or of several that share the folder. Null: another one has it. */
export function takeLock(path: string): { release(): void } | null {
  if (age(path) > STALE) rmSync(path, { recursive: true, force: true });
  try {
    mkdirSync(path);
  } catch {
    return null;
  }
  const timer = setInterval(() => {
    const now = new Date();
    try {
      utimesSync(path, now, now);
    } catch {
      // Whoever took it for stale has it now.
    }
  }, RENEW);
  timer.unref();
  return {
    release() {
      clearInterval(timer);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

const age = (path: string): number => {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? Date.now() - found.mtimeMs : 0;
};
