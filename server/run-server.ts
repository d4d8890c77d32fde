import { withDevSecrets } from '#core/edge/dev-secrets.ts';
import { parseEnv, processEnvironment } from '#core/process/env.ts';
import { AppError } from '#core/errors.ts';
import { exitAfterLog } from '#core/process/exit.ts';
import { createLog, logUnhandled, toStream } from '#core/process/log.ts';
import { onStop } from '#core/process/product.ts';
import { printStartError } from '#core/process/start-error.ts';
import { databaseUrl } from '#core/store/open.ts';
import { runAgentEndpoint } from './agent-endpoint.ts';
import { createDemo, deployDemo } from './demo.ts';
import { printBanner } from './banner.ts';
import { lockDatabase } from '#core/store/database-lock.ts';
import { startServer } from './start.ts';
import { type FromServer, isToServer } from './supervised.ts';

/** The server. With role `all` it runs the agent endpoint too, under `run-all.ts`, which starts the host beside it. */
await main().catch((error: unknown) => {
  printStartError('server', error);
  process.exit(1);
});

async function main(): Promise<void> {
  const { env, warnings } = parseEnv('server', withDevSecrets(processEnvironment()));
  const log = createLog(env.SVC_LOG_LEVEL, toStream(process.stdout));
  for (const warning of warnings) log.warning(warning);
  logUnhandled(log);
  const unlock = lockDatabase(databaseUrl(env));
  const server = await startServer(env, log);
  log.info('server listens', { address: env.SVC_BIND, port: server.port });
  const is_supervised = env.SVC_ROLE === 'all' && process.send !== undefined;
  const agent = is_supervised ? runAgentEndpoint(env, server.port) : null;
  const stop = async (): Promise<void> => {
    log.info('server stops');
    await server.stop();
    unlock();
  };
  if (!is_supervised) onStop(stop, ['SIGTERM', 'SIGINT', 'SIGHUP']);
  else {
    const send = (message: FromServer) => process.send?.(message);
    // A signal to this process, or to the whole group, ends the programs in the order of the one above.
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => send({ signalled: true }));
    let is_stopping = false;
    let agent_stopped: Promise<void> | undefined;
    const stopAgent = () => (agent_stopped ??= agent?.then((endpoint) => endpoint.stop()));
    const end = async (): Promise<void> => {
      if (is_stopping) return;
      is_stopping = true;
      await stopAgent();
      await stop();
      await exitAfterLog(0);
    };
    process.on('disconnect', () => void end());
    process.on('message', (message: unknown) => {
      if (!isToServer(message)) return;
      server.app.life.ending = true;
      void stopAgent();
      if (message.stop) void end();
    });
    send({ port: server.port });
  }

  if (env.SVC_ENV === 'dev' && env.SVC_DEMO && (await createDemo(server.app))) {
    // The log has the reason, such as a port in use; the next start tries again.
    await deployDemo(server.app).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      process.stdout.write(`\n  The demo is not deployed: ${error.detail}\n`);
    });
  }
  if (env.SVC_ENV === 'dev') await printBanner(server.app, server.port, (text) => void process.stdout.write(text));
}
