import { withDevSecrets } from '#core/edge/dev-secrets.ts';
import { parseEnv, processEnvironment } from '#core/process/env.ts';
import { createLog, logUnhandled, toStream } from '#core/process/log.ts';
import { onStop } from '#core/process/product.ts';
import { printStartError } from '#core/process/start-error.ts';
import { startAgent } from './start.ts';

try {
  main();
} catch (error) {
  printStartError('agent', error);
  process.exit(1);
}

function main(): void {
  const { env, warnings } = parseEnv('agent', withDevSecrets(processEnvironment()));
  const log = createLog(env.SVC_LOG_LEVEL, toStream(process.stdout), 'agent');
  logUnhandled(log);
  const ending = onStop(async () => {
    log.info('agent stops');
    await agent.stop();
  });
  const agent = startAgent(env, log, ending);
  // Logged after `startAgent`, so that the server's live log shows the warnings too.
  for (const warning of warnings) log.warning(warning);
  log.info('agent listens', { address: env.SVC_BIND, port: agent.port });
}
