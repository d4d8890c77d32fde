import { withDevInstallation } from '#core/edge/dev-secrets.ts';
import { EnvError, parseEnv, processEnvironment } from '#core/env.ts';
import { STDIO_HOST } from '#core/contract/deploy/deploy.ts';
import { createLog, toStream } from '#core/log.ts';
import { noListFile } from './auth/list-file.ts';
import { createHost, type Host } from './host.ts';
import { hostOptions } from './setup.ts';
import { serveStdio } from './transports/stdio.ts';
import { sleep, standardInput } from '#mcp-host/runtime/bun.ts';

/**
 * `bun mcp-host/stdio.ts`: a host for the one client that starts it, whatever `transport` says. It serves the snapshot on
 * disk, and follows the server when there is one. Standard output carries messages only; the log goes to standard error.
 */

const GRACE_MS = 2_000;
/** A client may wait so long for a first snapshot. */
const FIRST_SNAPSHOT_MS = 5_000;
await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof EnvError ? error.message : `The host cannot start: ${String(error)}`}\n`);
  process.exit(1);
});

async function main(): Promise<void> {
  const { env, warnings } = parseEnv('host', withDevInstallation(processEnvironment()));
  const log = createLog('INFO', toStream(process.stderr), 'host');
  for (const warning of warnings) log.warning(warning);
  const options = await hostOptions(env, log);
  const host = createHost({
    ...options,
    id: `${STDIO_HOST}${options.id}`,
    network: false,
    // The client needs no credential, and what is kept of them belongs to the host that listens.
    auth: { ...options.auth, tokens: noListFile(), identity: noListFile(), foreign_keys: noListFile() },
  });
  const stop = async (): Promise<void> => {
    await host.stop(GRACE_MS);
    process.exit(0);
  };
  process.on('SIGTERM', () => void stop());
  process.on('SIGINT', () => void stop());
  // The client may be gone before its last answer.
  process.stdout.on('error', () => void stop());
  await host.start();
  await firstSnapshot(host);
  const write = (line: string) => void process.stdout.write(line);
  await serveStdio({ input: standardInput(), connect: (send) => host.connect(send), write });
  await stop();
}

async function firstSnapshot(host: Host): Promise<void> {
  const deadline = performance.now() + FIRST_SNAPSHOT_MS;
  while (host.health().status === 'waiting' && performance.now() < deadline) await sleep(20);
}
