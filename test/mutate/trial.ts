import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Run } from '#test/runner/batches.ts';
import type { Tree } from './trees.ts';

export interface Trial {
  readonly failed: boolean;
  /** Wall time. */
  readonly seconds: number;
  /** Of the processor, with what it started and waited for. */
  readonly processor_seconds: number;
}

const TEST_MS = 60_000;
/** A changed program can take memory until none is left. */
const MOST_BYTES = 4 * 2 ** 30;
const PAGE_BYTES = 4096;
const WATCH_MS = 250;

const running = new Set<Bun.Subprocess>();
let ending = false;

interface TrialOptions {
  readonly environment: Readonly<Record<string, string>>;
  readonly limit_ms: number;
  /** Whether the first failure ends the run. */
  readonly bails: boolean;
}

/** Runs a test file. What does not end in time, or takes too much memory, has failed. */
export async function tryRun(tree: Tree, run: Run, { environment, limit_ms, bails }: TrialOptions): Promise<Trial> {
  if (ending) await new Promise(() => {});
  const temporary = join(tree.root, '.tmp');
  mkdirSync(temporary, { recursive: true });
  const since = performance.now();
  const flags = ['--no-orphans', `--timeout=${TEST_MS}`, ...(bails ? ['--bail'] : [])];
  const child = Bun.spawn([process.execPath, 'test', ...flags, `./${run.file}`], {
    cwd: tree.root,
    env: { ...process.env, ...environment, ...run.environment, TEST_LANE: String(tree.lane), TMPDIR: temporary },
    stdio: ['ignore', 'ignore', 'ignore'],
    // A process group of its own, which ends as a whole.
    detached: true,
  });
  running.add(child);
  let stopped = false;
  const stop = () => {
    stopped = true;
    end(child);
  };
  const limit = setTimeout(stop, limit_ms);
  const watch = setInterval(() => residentBytes(child.pid) > MOST_BYTES && stop(), WATCH_MS);
  const code = await child.exited;
  clearTimeout(limit);
  clearInterval(watch);
  running.delete(child);
  end(child);
  rmSync(temporary, { recursive: true, force: true, maxRetries: 3 });
  return {
    failed: stopped || code !== 0,
    seconds: (performance.now() - since) / 1000,
    processor_seconds: Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6,
  };
}

/** Ends every run, and lets no other one begin. */
export function stopAll(): void {
  ending = true;
  running.forEach(end);
}

function end({ pid }: Bun.Subprocess): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // ESRCH: every process of the group has ended.
  }
}

function residentBytes(pid: number): number {
  const path = `/proc/${pid}/statm`;
  return existsSync(path) ? Number(readFileSync(path, 'utf8').split(' ')[1]) * PAGE_BYTES : 0;
}
