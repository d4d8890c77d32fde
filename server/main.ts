import { withDevSecrets } from '#core/edge/dev-secrets.ts';
import { EnvError, parseEnv, processEnvironment } from '#core/process/env.ts';
import { AppError } from '#core/errors.ts';
import { createLog, logUnhandled, toStream } from '#core/process/log.ts';
import { onStop, programCommand } from '#core/process/product.ts';
import { createDemo, deployDemo } from './demo.ts';
import { printBanner } from './banner.ts';
import { startServer } from './start.ts';
import { supervise } from './supervisor.ts';

/** A host takes 9.5 s at most for its calls and what it tells; the containers are given 15 s. */
const GRACE_MS = 10_000;
/** What runs beside the server with role all. */
const OTHERS = ['host', 'agent'] as const;

await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof EnvError ? error.message : `Sluice cannot start: ${String(error)}`}\n`);
  process.exit(1);
});

async function main(): Promise<void> {
  const environment = withDevSecrets(processEnvironment());
  const other = OTHERS.find((name) => name === environment['SVC_ROLE']);
  if (other !== undefined) return runInstead(other, environment);
  const { env, warnings } = parseEnv('server', environment);
  const log = createLog(env.SVC_LOG_LEVEL, toStream(process.stdout));
  for (const warning of warnings) log.warning(warning);
  logUnhandled(log);
  const server = await startServer(env, log);
  log.info('server listens', { address: env.SVC_BIND, port: server.port });
  const server_url = env.SVC_SERVER_URL ?? `http://127.0.0.1:${server.port}`;
  const start = (name: (typeof OTHERS)[number]) =>
    supervise(name, programCommand(name), { ...environment, SVC_SERVER_URL: server_url }, log);
  const programs = env.SVC_ROLE === 'all' ? OTHERS.map(start) : [];

  const stop = async (): Promise<void> => {
    log.info('server stops');
    server.app.life.ending = true;
    await Promise.all(programs.map((program) => program.stop(GRACE_MS)));
    await server.stop();
  };
  onStop(stop, ['SIGTERM', 'SIGINT', 'SIGHUP']);

  if (env.SVC_ENV === 'dev' && env.SVC_DEMO && (await createDemo(server.app))) {
    // The log has the reason, such as a port in use; the next start tries again.
    await deployDemo(server.app).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      process.stdout.write(`\n  The demo is not deployed: ${error.detail}\n`);
    });
  }
  if (env.SVC_ENV === 'dev') await printBanner(server.app, server.port, (text) => void process.stdout.write(text));
}

/** One image for every program: with another role this one only passes signals and the exit code on. */
async function runInstead(name: (typeof OTHERS)[number], environment: Record<string, string | undefined>): Promise<void> {
  const child = Bun.spawn(programCommand(name), {
    env: environment,
    stdio: ['ignore', 'inherit', 'inherit'],
    // Its end tells the program that this one is gone.
    ipc: () => undefined,
  });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  process.on('disconnect', () => child.kill('SIGTERM'));
  process.exit(await child.exited);
}
