import { fileURLToPath } from 'node:url';
import type { Ours } from './ours.ts';
import { firstTools } from './target.ts';

export interface HostAlone {
  readonly pid: number;
  /** From its start to the first answered tools/list. */
  readonly ready_ms: number;
  stop(): Promise<void>;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The host of a product that was stopped, with the snapshot that it kept on disk. */
export async function startHostAlone({ programs, url, headers }: Ours): Promise<HostAlone> {
  const began = performance.now();
  const child = Bun.spawn([process.execPath, 'mcp-host/main.ts'], {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'] ?? '',
      SVC_ENV: 'dev',
      SVC_PORT: String(programs.port),
      SVC_FASTMCP_PORT: new URL(url).port,
      SVC_DATA_DIR: programs.directory,
      SVC_ALLOW_PRIVATE_NETWORKS: 'true',
    },
    stdout: 'ignore',
    stderr: 'inherit',
  });
  const ready_ms = await firstTools({ url, headers }, began);
  return {
    pid: child.pid,
    ready_ms,
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}
