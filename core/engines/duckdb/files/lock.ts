import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Milliseconds after which a lock that nobody renews belongs to nobody. */
const STALE = 10_000;
const RENEW = 2_000;

export interface FileLock {
  /** Null: another one has it. */
  take(path: string): { release(): void } | null;
}

/**
 * A lock between processes, of one machine or of several that share the folder. Their clocks may differ: it is stale when its time has
 * not changed for so long by the clock of whoever waits.
 */
export function createFileLock(stale_ms = STALE): FileLock {
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
        // Whoever took it for stale has it now.
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

/** Of several that find it stale, the rename of one succeeds; what another has made since is put back. */
function steal(path: string, state: string): void {
  const stolen = `${path}.${randomUUID()}`;
  ignoreErrors(() => {
    renameSync(path, stolen);
    if (stateOf(stolen) === state) rmSync(stolen, { recursive: true, force: true });
    else renameSync(stolen, path);
  });
}

/** Empty: nobody has it. Another text whenever it is renewed, and with each owner. */
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
    // Another one was first.
  }
}
