import type { HostLine } from '#core/contract/monitoring.ts';
import type { LogLine } from '#core/log.ts';

/** The newest lines of the host's own log, on their way to the live log of the server. */
export interface LineBuffer {
  add(line: LogLine): void;
  count(): number;
  /** Empties it. */
  take(): HostLine[];
}

const LONGEST_TEXT = 500;

export function createLines(capacity = 200): LineBuffer {
  let lines: HostLine[] = [];
  return {
    add({ timestamp, level, message, fields }) {
      if (lines.length >= capacity) lines.shift();
      lines.push({ timestamp, level, message: message.slice(0, LONGEST_TEXT), fields: scalars(fields) });
    },
    count: () => lines.length,
    take() {
      const taken = lines;
      lines = [];
      return taken;
    },
  };
}

function scalars(fields: LogLine['fields']): HostLine['fields'] {
  const kept: HostLine['fields'] = {};
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'string') kept[name] = value.slice(0, LONGEST_TEXT);
    else if (value === null || typeof value === 'number' || typeof value === 'boolean') kept[name] = value;
  }
  return kept;
}
