import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '#test/support/until.ts';

/** How much of a program's memory is alive, in MiB, as `heap-probe.ts` answers it. */
export interface LiveHeap {
  /** For the programs that are to be asked. */
  readonly env: Record<string, string>;
  ask(pid: number): Promise<number>;
  close(): void;
}

export function createLiveHeap(): LiveHeap {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-heap-'));
  const probe = fileURLToPath(new URL('heap-probe.ts', import.meta.url));
  return {
    env: { BUN_OPTIONS: `--preload ${probe}`, SLUICE_BENCH_HEAP_FOLDER: folder },
    async ask(pid) {
      const file = join(folder, String(pid));
      rmSync(file, { force: true });
      process.kill(pid, 'SIGUSR2');
      await until(() => existsSync(file));
      return Number(readFileSync(file, 'utf8'));
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}
