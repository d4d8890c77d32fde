import { EnvError } from './env.ts';
import { createLog, type LogSource, reasonOf, toStream } from './log.ts';

const PROGRAM_NAMES: Partial<Readonly<Record<LogSource, string>>> = { host: 'The host', agent: 'The agent' };

/** Says why a program cannot start: as text on a terminal, otherwise as a log line, so that every line stays JSON. */
export function printStartError(
  source: LogSource,
  error: unknown,
  stream: { write(text: string): unknown; isTTY?: boolean } = process.stderr,
): void {
  const summary = `${PROGRAM_NAMES[source] ?? 'Sluice'} cannot start`;
  if (stream.isTTY === true) {
    stream.write(`${error instanceof EnvError ? error.message : `${summary}: ${reasonOf(error)}`}\n`);
    return;
  }
  const fields = error instanceof EnvError ? { errors: error.faults } : { reason: reasonOf(error) };
  createLog('ERROR', toStream(stream), source).error(summary, fields);
}
