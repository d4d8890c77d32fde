import type { HostLine } from '#core/contract/observe/usage-batch.ts';
import { type LogLine, toShortLine } from '#core/process/log.ts';

/** The newest lines of the host's own log, on their way to the live log of the server. */
export interface LineBuffer {
  add(line: LogLine): void;
  count(): number;
  /** Empties it. */
  take(): HostLine[];
}

export function createLines(capacity = 200): LineBuffer {
  let lines: HostLine[] = [];
  return {
    add(line) {
      if (lines.length >= capacity) lines.shift();
      lines.push(toShortLine(line));
    },
    count: () => lines.length,
    take() {
      const taken = lines;
      lines = [];
      return taken;
    },
  };
}
