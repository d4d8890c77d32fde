/** Timers of calls, nearly all of which are taken back before they are due: one real timer for all of the same length. */
export interface Timeouts {
  add(ms: number, due: () => void): Timeout;
}

export interface Timeout {
  clear(): void;
}

interface Entry {
  readonly at: number;
  readonly due: () => void;
}

/** Entries of one length, the first due first. */
interface Line {
  readonly entries: Set<Entry>;
  running: boolean;
}

export function createTimeouts(): Timeouts {
  const lines = new Map<number, Line>();

  const run = (line: Line, ms: number): void => {
    line.running = true;
    setTimeout(() => fire(line), ms).unref();
  };
  const fire = (line: Line): void => {
    line.running = false;
    for (const entry of line.entries) {
      const left = entry.at - performance.now();
      if (left > 0) return run(line, Math.ceil(left));
      line.entries.delete(entry);
      entry.due();
    }
  };

  return {
    add(ms, due) {
      let line = lines.get(ms);
      if (line === undefined) lines.set(ms, (line = { entries: new Set(), running: false }));
      const { entries } = line;
      const entry = { at: performance.now() + ms, due };
      entries.add(entry);
      if (!line.running) run(line, ms);
      return { clear: () => void entries.delete(entry) };
    },
  };
}
