import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LogLine } from '#core/process/log.ts';
import type { HostOptions } from '#mcp-host/host-options.ts';
import type { HostHealth } from '#mcp-host/observe/health.ts';
import { denoCommand } from '#test/support/deno.ts';
import type { ProgramOptions, Question } from './host-program.ts';

type Unsent<Q> = Q extends Question ? Omit<Q, 'id'> : never;
type Said = { readonly line: LogLine } | { readonly id: number; readonly value?: unknown; readonly error?: string };

export interface DenoHost {
  health(): Promise<HostHealth>;
  url(): string | null;
  stop(grace_ms: number): Promise<void>;
}

/** The clocks of the hosts that run, written anew before they are asked anything. */
const clocks = new Set<() => void>();
export const setClocks = (): void => {
  for (const set of clocks) set();
};

let made = 0;

/** A host of the tests on Deno. Of its options those that are plain values reach it, and its clocks. */
export async function startDenoHost(
  directory: string,
  control_url: string,
  log: LogLine[],
  { now, ticks, ...more }: Partial<HostOptions>,
): Promise<DenoHost> {
  const unknown = Object.entries(more).filter(([, value]) => JSON.stringify(value) === undefined || typeof value === 'function');
  if (unknown.length > 0) throw new Error(`A host on Deno takes no ${unknown.map(([name]) => name).join(', ')}.`);
  const own_folder = mkdtempSync(join(tmpdir(), 'sluice-deno-'));
  const own = (name: string) => join(own_folder, name);
  const url_path = own('url');
  const clock_path = now === undefined && ticks === undefined ? null : own('clock');
  const setClock = () => {
    if (clock_path === null) return;
    // As the host itself has it: one clock that is given stands for both.
    const ticked = ticks?.() ?? now?.() ?? performance.now();
    writeFileSync(clock_path, new Float64Array([now?.() ?? Date.now(), ticked]));
  };
  setClock();
  writeFileSync(url_path, '');
  const options: ProgramOptions = { directory, control_url, clock_path, url_path, more };
  const asked = new Map<number, PromiseWithResolvers<unknown>>();
  const child = Bun.spawn(denoCommand(join(import.meta.dir, 'host-program.ts'), JSON.stringify(options)), {
    stdio: ['ignore', 'inherit', 'inherit'],
    serialization: 'json',
    ipc(said: Said) {
      if ('line' in said) {
        log.push(said.line);
        return;
      }
      const { resolve, reject } = asked.get(said.id) ?? {};
      asked.delete(said.id);
      if (said.error === undefined) resolve?.(said.value);
      else reject?.(new Error(said.error));
    },
  });
  const ask = (question: Unsent<Question>): Promise<unknown> => {
    setClocks();
    const id = ++made;
    const answer = Promise.withResolvers<unknown>();
    asked.set(id, answer);
    child.send({ id, ...question });
    return answer.promise;
  };
  // A test that sets its clock and then waits has the host wait with it.
  const timer = setInterval(setClock, 5);
  clocks.add(setClock);
  void child.exited.then(() => {
    clearInterval(timer);
    clocks.delete(setClock);
    rmSync(own_folder, { recursive: true });
  });
  await ask({ ask: 'start' });
  return {
    health: async () => (await ask({ ask: 'health' })) as HostHealth,
    url() {
      setClock();
      return readFileSync(url_path, 'utf8') || null;
    },
    async stop(grace_ms) {
      if (child.exitCode !== null) return;
      await ask({ ask: 'stop', grace_ms });
      await child.exited;
    },
  };
}
