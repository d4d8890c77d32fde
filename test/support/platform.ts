import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMemoryKv } from '#core/cluster/memory.ts';
import { createPlatform, type Platform, type PlatformOptions } from '#core/platform/platform.ts';
import { parseEnv } from '#core/process/env.ts';
import { createLog, type LogLine } from '#core/process/log.ts';
import { openStore } from '#core/store/open.ts';
import { type Dialect, emptyMetadata } from './metadata.ts';

const SECRET = 'k'.repeat(16) + '0123456789abcdefg';

/** What a server in this process stands on: a fresh store, a clock that stands still, its own folder. */
export async function testGround(variables: Record<string, string> = {}, database_url?: string, metadata?: Dialect) {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-'));
  const own = database_url === undefined ? await emptyMetadata(directory, metadata) : null;
  const { env } = parseEnv('server', {
    SVC_ENV: 'dev',
    // No host is started beside it, so deploys wait for none.
    SVC_ROLE: 'server',
    SVC_FASTMCP_HOST: '127.0.0.1',
    SVC_KV: 'memory',
    SVC_ENCRYPTION_KEY: SECRET,
    SVC_JWT_SECRET: SECRET,
    SVC_AGENT_SERVICE_TOKEN: SECRET,
    SVC_DATA_DIR: directory,
    SVC_GENERATED_DIR: join(directory, 'generated'),
    SVC_ALLOW_PRIVATE_NETWORKS: 'true',
    ...variables,
  });
  let now = Date.parse('2026-03-01T12:00:00.000Z');
  const lines: LogLine[] = [];
  const options: PlatformOptions = {
    env,
    store: await openStore(own?.url ?? database_url ?? ''),
    kv: createMemoryKv(() => now),
    log: createLog('DEBUG', (line) => lines.push(line)),
    clock: () => new Date(now),
    ids: () => Bun.randomUUIDv7(),
  };
  return {
    options,
    directory,
    lines,
    advance: (ms: number): void => void (now += ms),
    release: async (): Promise<void> => {
      await own?.release();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The platform without any room, for a test that builds those that it needs beside it. */
export async function testPlatform(): Promise<Platform> {
  const { options, release } = await testGround();
  const platform = await createPlatform(options, {
    forbidden: async () => [],
    secretTtl: async () => 300,
    closeFirst: async () => undefined,
    closeLast: async () => undefined,
  });
  return {
    ...platform,
    async close() {
      await platform.close();
      await release();
    },
  };
}
