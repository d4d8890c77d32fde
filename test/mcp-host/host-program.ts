import { openSync, readSync, renameSync, writeFileSync } from 'node:fs';
import type { HostOptions } from '#mcp-host/host-options.ts';
import { makeHost } from './make-host.ts';

/** `host-program.ts JSON`: a host of the tests in a process of its own, which whoever started it asks over the channel. */
export interface ProgramOptions {
  readonly directory: string;
  readonly control_url: string;
  /** Holds two numbers of 8 bytes: what `now` and `ticks` of the host are; null: it has its own clock. */
  readonly clock_path: string | null;
  /** Where the host writes its URL before it says that it serves. */
  readonly url_path: string;
  readonly more: Partial<HostOptions>;
}
export type Question =
  | { readonly id: number; readonly ask: 'start' | 'health' }
  | { readonly id: number; readonly ask: 'stop'; readonly grace_ms: number };

const { directory, control_url, clock_path, url_path, more } = JSON.parse(process.argv[2] ?? '') as ProgramOptions;

const clock = clock_path === null ? null : openSync(clock_path, 'r');
const times = new Float64Array(2);
function clockTime(index: number): number {
  readSync(clock ?? -1, new Uint8Array(times.buffer), 0, 16, 0);
  return times[index] ?? 0;
}
const say = (message: object): void => void process.send?.(message);
/** Renamed into place: whoever reads it meanwhile finds the address before. */
const keepUrl = (): void => {
  writeFileSync(`${url_path}.new`, host.url() ?? '');
  renameSync(`${url_path}.new`, url_path);
};

const host = makeHost(directory, control_url, (line) => say({ line }), {
  ...more,
  ...(clock !== null && { now: () => clockTime(0), ticks: () => clockTime(1) }),
  onServe: keepUrl,
});

async function answer(question: Question): Promise<unknown> {
  if (question.ask === 'health') return host.health();
  if (question.ask === 'stop') return host.stop(question.grace_ms);
  await host.start();
  keepUrl();
  return null;
}

process.on('message', (question: Question) => {
  answer(question).then(
    (value) => {
      say({ id: question.id, value: value ?? null });
      if (question.ask === 'stop') setTimeout(() => process.exit(0), 0);
    },
    (error: unknown) => say({ id: question.id, error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
