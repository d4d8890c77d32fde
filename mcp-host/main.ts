import { withDevSecrets } from '#core/edge/dev-secrets.ts';
import { EnvError, parseEnv, processEnvironment } from '#core/process/env.ts';
import { createLog, logUnhandled, toStream } from '#core/process/log.ts';
import { onStop } from '#core/process/product.ts';
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
  onStop(() => host.stop(GRACE_MS));
  await host.start();
  log.info('host listens', { url: host.url() });
}
