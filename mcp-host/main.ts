import { withDevSecrets } from '#core/edge/dev-secrets.ts';
import { parseEnv, processEnvironment } from '#core/process/env.ts';
import { createLog, logUnhandled, toStream } from '#core/process/log.ts';
import { onStop } from '#core/process/product.ts';
import { printStartError } from '#core/process/start-error.ts';
import { createHost } from './host.ts';
import { hostOptions } from './setup.ts';

/** How long running calls may continue after SIGTERM, in ms. */
const GRACE_MS = 8_000;

await main().catch((error: unknown) => {
  printStartError('host', error);
  process.exit(1);
});

async function main(): Promise<void> {
  const { env, warnings } = parseEnv('host', withDevSecrets(processEnvironment()));
  const log = createLog('INFO', toStream(process.stdout), 'host');
  for (const warning of warnings) log.warning(warning);
  logUnhandled(log);
  const host = createHost(await hostOptions(env, log));
  onStop(async () => {
    await host.announceEnd(env.SVC_SHUTDOWN_DELAY_MS);
    await host.stop(GRACE_MS);
  });
  await host.start();
  log.info('host listens', { url: host.url() });
}
