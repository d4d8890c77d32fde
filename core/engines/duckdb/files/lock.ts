import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Milliseconds after which a lock that is not renewed counts as abandoned. */
const STALE_MS = 10_000;
const RENEW = 2_000;

export interface FileLock {
  /** Null: another process holds it. */
  take(path: string): { release(): void } | null;
}

/**
 * A lock between processes on one machine, or on several machines that share the folder. Their clocks may differ: a lock is stale
 * when its modification time has not changed for `stale_ms` on the clock of the waiting process.
 */
export function createFileLock(stale_ms = STALE_MS): FileLock {
  let seen = { state: '', since: 0 };

  const isStale = (path: string): boolean => {
    const state = stateOf(path);
    if (state !== seen.state) seen = { state, since: performance.now() };
    return state !== '' && performance.now() - seen.since > stale_ms;
  };
  return {
    take(path) {
      if (isStale(path)) steal(path, seen.state);
      const id = randomUUID();
      try {
        mkdirSync(path);
        writeFileSync(join(path, OWNER), id);
      } catch {
        return null;
      }
      const timer = setInterval(() => {
        const now = new Date();
        // If another process took the lock as stale, it is not renewed.
        if ((ownerOf(path) ?? id) === id) ignoreErrors(() => utimesSync(path, now, now));
      }, RENEW);
      timer.unref();
      return {
        release() {
          clearInterval(timer);
          if (ownerOf(path) === id) rmSync(path, { recursive: true, force: true });
        },
      };
    },
  };
}

const OWNER = 'owner';

/**
 * When several processes find it stale, only one rename succeeds. If another process has created a new lock since, that lock is
 * restored.
 */
function steal(path: string, state: string): void {
  const stolen = `${path}.${randomUUID()}`;
  ignoreErrors(() => {
    renameSync(path, stolen);
    if (stateOf(stolen) === state) rmSync(stolen, { recursive: true, force: true });
    else renameSync(stolen, path);
  });
}

/** Empty: the lock is free. The text changes when the lock is renewed, and with each owner. */
function stateOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? '' : `${found.mtimeMs} ${ownerOf(path) ?? ''}`;
}

function ownerOf(path: string): string | null {
  try {
    return readFileSync(join(path, OWNER), 'utf8');
  } catch {
    return null;
  }
}

function ignoreErrors(work: () => void): void {
  try {
    work();
  } catch {
    // Another process removed it first.
  }
}
