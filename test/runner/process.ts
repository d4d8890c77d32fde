import { ROOT } from './layers.ts';

export type Environment = Readonly<Record<string, string>>;

export interface Ended {
  readonly code: number;
  readonly output: string;
  /** Wall time. */
  readonly seconds: number;
  /** Processor time of the program and of what it started and waited for. */
  readonly processor_seconds: number;
  readonly late: boolean;
}

/** Runs a Bun program to its end, or kills it after `limit_ms`. */
export async function run(command: readonly string[], environment: Environment = {}, limit_ms = 600_000): Promise<Ended> {
  const since = performance.now();
  const child = Bun.spawn([process.execPath, ...command], {
    cwd: ROOT,
    env: { ...process.env, ...environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  let late = false;
  const limit = setTimeout(() => {
    late = true;
    child.kill('SIGKILL');
  }, limit_ms);
  const reading = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const code = await child.exited;
  clearTimeout(limit);
  // A process that a test left behind can hold the pipes open.
  const texts = await Promise.race([
    reading,
    Bun.sleep(2_000).then(() => ['', 'Its output is held open by a process it left behind.']),
  ]);
  return {
    code,
    output: texts.join('').trimEnd(),
    seconds: (performance.now() - since) / 1000,
    processor_seconds: Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6,
    late,
  };
}
