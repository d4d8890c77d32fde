import { readFileSync, statSync } from 'node:fs';
import { AppError } from '#core/errors.ts';
import type { DuckdbAnswer } from '../messages.ts';
import { notInstalled, startDuckdbChild } from '../process.ts';
import type { Difference } from './manifest.ts';
import type { BuildStep, BuiltTable } from './plan.ts';
import type { Progress } from './progress.ts';

const SLOWEST = { ms: 20_000, bytes_per_second: 2_000_000 };
/**
 * Bytes that the cache may have per byte of input, and the lower bound of that limit. An archive of a few megabytes can contain
 * terabytes.
 */
const CACHE_FACTOR = 30;
const CACHE_LEAST = 1024 ** 3;
/** Bytes of one unit of `ulimit -f`. */
const ULIMIT_BLOCK = 512;
/**
 * Bytes of resident memory that the build may use. Its reserved memory is many times larger, so a limit of the system does not
 * work.
 */
const BUILD_MEMORY = 1_500 * 1024 * 1024;
const PAGE = 4_096;
/** How often the build is restarted without the file at which it ended. */
const MAX_RESTARTS = 20;

/** Sentences for files that need more than an import may use. */
const TOO_MUCH = {
  memory:
    'Reading the file needs more memory than importing may use (1.5 GB). Split it into several files, or save it as Parquet.',
  disk: 'The table of the file needs more disk space than importing may use. Remove columns or rows that no tool reads.',
  time: 'Reading the file took too long. Split it into several files, or save it as Parquet.',
};

interface Build {
  readonly file: string;
  readonly copy_of: string | null;
  readonly changes: Difference;
  /** Filled with the files that ended the build. They are reported even if the rest fails. */
  readonly broken: BuiltTable[];
  readonly progress: Progress;
  readonly stop: AbortSignal;
}

/** Builds a cache. A file that ends the build process is skipped in the next attempt. */
export async function runBuild({ file, copy_of, changes, broken, progress, stop }: Build): Promise<readonly BuiltTable[]> {
  for (;;) {
    const left = changes.steps.flatMap((step, n) => (broken.some((each) => each.step === n) ? [] : [{ step, n }]));
    let reading = -1;
    let reason: keyof typeof TOO_MUCH | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const child = startDuckdbChild(`ulimit -f ${Math.ceil(cacheLimit(copy_of, left) / ULIMIT_BLOCK)}`);
    const end = (because: keyof typeof TOO_MUCH) => {
      reason ??= because;
      void child.kill();
    };
    const watch = setInterval(() => memoryOf(child.pid) > BUILD_MEMORY && end('memory'), 200);
    const begin = (message: DuckdbAnswer): boolean => {
      if (message.answer !== 'reading') return false;
      reading = left[message.step]?.n ?? -1;
      clearTimeout(timer);
      timer = setTimeout(() => end('time'), timeFor(left[message.step]?.step));
      progress.show({ done: reading, of: changes.steps.length, key: changes.planned[reading]?.key ?? null });
      return true;
    };
    try {
      const question = { ask: 'build', file, copy_of, steps: left.map(({ step }) => step) } as const;
      const answer = await child.ask(question, stop, begin);
      if (answer.answer === 'missing') throw notInstalled(answer.message);
      if (answer.answer === 'built') return answer.tables.map((each) => ({ ...each, step: left[each.step]?.n ?? -1 }));
      const cause = answer.answer === 'fault' ? answer.fault.message : answer.answer;
      throw new AppError(
        'database_unreachable',
        'The files of this folder could not be read; check the space on the disk and the log.',
        {
          reason: 'failed',
          cause,
        },
      );
    } catch (error) {
      const ended = !stop.aborted && !child.usable && reading >= 0 && broken.length < MAX_RESTARTS;
      if (!ended) throw error;
      const message = TOO_MUCH[reason ?? reasonOf(error)];
      broken.push({
        step: reading,
        tables: [],
        rejected: [],
        rejected_rows: 0,
        notes: [],
        offers: [],
        error: { message, line: null },
      });
    } finally {
      progress.end();
      clearTimeout(timer);
      clearInterval(watch);
      await child.kill();
    }
  }
}

/** Bytes that the cache may have, including the copy of the previous cache. */
function cacheLimit(copy_of: string | null, steps: readonly { readonly step: BuildStep }[]): number {
  const before = copy_of === null ? 0 : bytesOf([copy_of]);
  const read = steps.reduce((sum, { step }) => sum + (step.step === 'read' ? bytesOf(step.paths) : 0), 0);
  return before + Math.max(CACHE_LEAST, read * CACHE_FACTOR);
}

const bytesOf = (paths: readonly string[]): number =>
  paths.reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);

/** Bytes of resident memory of a process, on Linux. */
function memoryOf(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE;
  } catch {
    return 0;
  }
}

/** Milliseconds for one file or pattern. A small file that takes long contains much more than its size suggests. */
function timeFor(step: BuildStep | undefined): number {
  if (step?.step !== 'read') return SLOWEST.ms;
  return SLOWEST.ms + (bytesOf(step.paths) / SLOWEST.bytes_per_second) * 1_000;
}

/** Why the build process ended. The system stops one that writes too large a file; otherwise memory ran out. */
const reasonOf = (error: unknown): keyof typeof TOO_MUCH =>
  error instanceof AppError && (error.cause as { signal?: unknown } | undefined)?.signal === 'SIGXFSZ' ? 'disk' : 'memory';
