import { withDevSecrets } from '#core/edge/dev-secrets.ts';
import { EnvError, parseEnv, processEnvironment } from '#core/env.ts';
import { createLog, logUnhandled, toStream } from '#core/log.ts';
import { createHost } from './host.ts';
import { hostOptions } from './setup.ts';

/** Running calls may finish for so long after SIGTERM. */
const GRACE_MS = 8_000;

await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof EnvError ? error.message : `The host cannot start: ${String(error)}`}\n`);
  process.exit(1);
});

async function main(): Promise<void> {
  const { env, warnings } = parseEnv('host', withDevSecrets(processEnvironment()));
  const log = createLog('INFO', toStream(process.stdout), 'host');
  for (const warning of warnings) log.warning(warning);
  logUnhandled(log);
  const host = createHost(await hostOptions(env, log));
  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) process.exit(1);
    stopping = true;
    await host.stop(GRACE_MS);
    process.exit(0);
  };
  process.on('SIGTERM', () => void stop());
  process.on('SIGINT', () => void stop());
  // Started with a channel: its end means that the parent is gone.
  process.on('disconnect', () => void stop());
  await host.start();
  log.info('host listens', { url: host.url() });
}
