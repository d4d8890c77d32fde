import { withDevSecrets } from '#core/edge/dev-secrets.ts';
import { processEnvironment } from '#core/process/env.ts';
import { programCommand } from '#core/process/product.ts';
import { printStartError } from '#core/process/start-error.ts';
import { runAll } from './run-all.ts';

/** Starts what `SVC_ROLE` says: one program, or all of them. */
await main().catch((error: unknown) => {
  printStartError('server', error);
  process.exit(1);
});

async function main(): Promise<void> {
  const environment = withDevSecrets(processEnvironment());
  const role = environment['SVC_ROLE'];
  if (role === 'host' || role === 'agent') return runProgramOfRole(role, environment);
  if (role === 'server') return void (await import('./run-server.ts'));
  runAll();
}

/** One image serves every program: with another role, this one starts that program and passes signals and the exit code on. */
async function runProgramOfRole(name: 'host' | 'agent', environment: Record<string, string | undefined>): Promise<void> {
  const child = Bun.spawn(programCommand(name), {
    env: environment,
    stdio: ['ignore', 'inherit', 'inherit'],
    // When the channel closes, the program knows that its parent has ended.
    ipc: () => undefined,
  });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  process.on('disconnect', () => child.kill('SIGTERM'));
  process.exit(await child.exited);
}
