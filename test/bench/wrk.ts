import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callBody } from './workload.ts';

/** What is asked, over and over: a tool with a random argument, or a fixed body. */
export interface Load {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tool?: string;
  /** `@` stands for a random number. */
  readonly body?: string;
  /** Largest argument. */
  readonly span?: number;
  readonly connections: number;
  readonly seconds: number;
  /** Mean pause of each connection between two calls, ms. */
  readonly think_ms?: number;
}

export interface Loaded {
  readonly calls: number;
  readonly rps: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  /** Answers other than 2xx, timeouts and broken connections. */
  readonly errors: number;
}

export const hasWrk = (): boolean => Bun.which('wrk') !== null;
export const WRK_MISSING = 'The program wrk is not installed; install it (Debian: apt install wrk) to measure calls.';

/** Runs the client that all targets share. */
export async function runWrk(load: Load): Promise<Loaded> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-wrk-'));
  try {
    const script = join(folder, 'load.lua');
    writeFileSync(script, lua(load));
    const child = Bun.spawn(
      ['wrk', '-t', '1', '-c', String(load.connections), '-d', `${load.seconds}s`, '--timeout', '20s', '-s', script, load.url],
      { stdout: 'pipe', stderr: 'pipe' },
    );
    const text = await new Response(child.stdout).text();
    const found = /^FIGURES (.*)$/m.exec(text)?.[1];
    if (found === undefined) throw new Error(`wrk said nothing of use: ${text} ${await new Response(child.stderr).text()}`);
    const [calls = 0, us = 1, p50 = 0, p99 = 0, errors = 0] = found.split(' ').map(Number);
    return { calls, rps: calls / (us / 1e6), p50_ms: p50 / 1_000, p99_ms: p99 / 1_000, errors };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** wrk is scripted in Lua; each run has a seed of its own, so that no target profits from the calls of another. */
function lua({ headers, tool, body, span = 1, think_ms }: Load): string {
  const all = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers };
  const text = body ?? callBody(tool ?? '', '@');
  const [before = '', after = ''] = text.split('@');
  return `
wrk.method = "POST"
${Object.entries(all)
  .map(([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`)
  .join('\n')}
math.randomseed(${Math.floor(Math.random() * 1e9)})
${text.includes('@') ? `request = function() return wrk.format(nil, nil, nil, [[${before}]] .. math.random(1, ${span}) .. [[${after}]]) end` : `wrk.body = [[${text}]]`}
${think_ms === undefined ? '' : `delay = function() return math.random(0, ${think_ms * 2}) end`}
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format("FIGURES %d %d %d %d %d\\n", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end
`;
}
