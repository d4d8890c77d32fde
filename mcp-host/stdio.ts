import { setTimeout as sleep } from 'node:timers/promises';
import { withDevInstallation } from '#core/edge/dev-secrets.ts';
import { parseEnv, processEnvironment } from '#core/process/env.ts';
import { STDIO_HOST } from '#core/contract/deploy/deploy.ts';
import { exitAfterOutput } from '#core/process/exit.ts';
import { programArguments } from '#core/process/product.ts';
import { printStartError } from '#core/process/start-error.ts';
import { createLog, logUnhandled, toStream } from '#core/process/log.ts';
import { noListFile } from './auth/list-file.ts';
import { createHost, type Host } from './host.ts';
import { hostOptions } from './setup.ts';
import { endpointOfArguments, UsageError } from './transports/local.ts';
import { serveStdio } from './transports/stdio.ts';
import { standardInput } from '#mcp-host/runtime/runtime.ts';

/**
 * `bun mcp-host/stdio.ts`: a host for the client that starts it, for any value of `transport`. It serves the snapshot on disk, or
 * with `--toolset NAME` one toolset of it, and follows the server if there is one. Standard output carries messages only; the log
 * goes to standard error.
 */

const GRACE_MS = 2_000;
/** How long a client waits for the first snapshot. */
const FIRST_SNAPSHOT_MS = 5_000;
/** The exit code of every command for wrong arguments. */
const WRONG_USAGE = 64;
await main().catch((error: unknown) => {
  const usage = error instanceof UsageError;
  if (usage) process.stderr.write(`${error.message}\n`);
  else printStartError('host', error);
  process.exit(usage ? WRONG_USAGE : 1);
});

async function main(): Promise<void> {
  const endpoint = endpointOfArguments(programArguments());
  const { env, warnings } = parseEnv('host', withDevInstallation(processEnvironment()));
  const log = createLog('INFO', toStream(process.stderr), 'host');
  for (const warning of warnings) log.warning(warning);
  logUnhandled(log);
  const options = await hostOptions(env, log);
  const host = createHost({
    ...options,
    id: `${STDIO_HOST}${options.id}`,
    network: false,
    // The client needs no credential, and the stored credentials belong to the host that listens.
    auth: { ...options.auth, tokens: noListFile(), identity: noListFile(), foreign_keys: noListFile() },
  });
  const stop = async (): Promise<void> => {
    await host.stop(GRACE_MS);
    // The client may still read its last answers.
    await exitAfterOutput(0, { limit_ms: GRACE_MS });
  };
  process.on('SIGTERM', () => void stop());
  process.on('SIGINT', () => void stop());
  // The client may close the pipe before its last answer.
  process.stdout.on('error', () => void stop());
  await host.start();
  await firstSnapshot(host);
  const missing = host.missing(endpoint);
  if (missing !== null) {
    await host.stop(0);
    throw new UsageError(missing);
  }
  const write = (line: string) => void process.stdout.write(line);
  await serveStdio({ input: standardInput(), connect: (send) => host.connect(send, endpoint), write, log });
  await stop();
}

async function firstSnapshot(host: Host): Promise<void> {
  const deadline = performance.now() + FIRST_SNAPSHOT_MS;
  while (host.health().status === 'waiting' && performance.now() < deadline) await sleep(20);
}
