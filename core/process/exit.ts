import { withTimeout } from '#core/lib/with-timeout.ts';

/** How long a reader of the output that does not read can delay the exit of a program. */
const LAST_LINES_MS = 1_000;

/**
 * Ends the process when its pipes have accepted all that was written: `process.exit` alone loses what a slow reader has not read, and
 * so does waiting for an empty write, which answers before earlier ones. @param limit_ms absent: as long as it takes.
 */
export async function exitAfterOutput(code: number, { limit_ms }: { readonly limit_ms?: number } = {}): Promise<never> {
  // A stream whose reader is gone ends too, with an error.
  const ended = Promise.all([process.stdout, process.stderr].map(ending));
  await (limit_ms === undefined ? ended : withTimeout(ended, limit_ms, () => undefined));
  process.exit(code);
}

/** The exit of a program that serves: what is left of its log may delay it only briefly. */
export const exitAfterLog = (code: number): Promise<never> => exitAfterOutput(code, { limit_ms: LAST_LINES_MS });

function ending(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.on('error', () => resolve());
    stream.end(resolve);
  });
}
