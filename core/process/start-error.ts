import { EnvError } from './env.ts';
import { createLog, type LogSource, reasonOf, toStream } from './log.ts';

const PROGRAM_NAMES: Partial<Readonly<Record<LogSource, string>>> = { host: 'The host', agent: 'The agent' };

/** What to change when the system refuses a file or folder, by its error code. */
const ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'Give it to the user that runs Sluice, or set SVC_DATA_DIR to a folder of that user.',
  EPERM: 'Give it to the user that runs Sluice, or set SVC_DATA_DIR to a folder of that user.',
  EROFS: 'Mount its disk for writing, or set SVC_DATA_DIR to a folder on another one.',
  ENOSPC: 'Free some space, or set SVC_DATA_DIR to a folder on another disk.',
  ENOTDIR: 'A part of this path is a file. Remove it, or set SVC_DATA_DIR to another folder.',
};

/** The reason, for a refused file with its path and what to change. */
function startReason(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error) || !('path' in error)) return reasonOf(error);
  const { code, path } = error;
  const advice = typeof code === 'string' ? ADVICE[code] : undefined;
  return advice === undefined ? reasonOf(error) : `${String(path)} cannot be written (${String(code)}). ${advice}`;
}

/** Says why a program cannot start: as text on a terminal, otherwise as a log line, so that every line stays JSON. */
export function printStartError(
  source: LogSource,
  error: unknown,
  stream: { write(text: string): unknown; isTTY?: boolean } = process.stderr,
): void {
  const summary = `${PROGRAM_NAMES[source] ?? 'Sluice'} cannot start`;
  if (stream.isTTY === true) {
    stream.write(`${error instanceof EnvError ? error.message : `${summary}: ${startReason(error)}`}\n`);
    return;
  }
  const fields = error instanceof EnvError ? { errors: error.faults } : { reason: startReason(error) };
  createLog('ERROR', toStream(stream), source).error(summary, fields);
}
