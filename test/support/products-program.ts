import { rm } from 'node:fs/promises';
import { withDevSecrets } from '#core/edge/dev-secrets.ts';
import { type Env, parseEnv } from '#core/process/env.ts';
import { createLog, logUnhandled, toStream } from '#core/process/log.ts';
import { createDemo, deployDemo } from '#server/demo.ts';
import { startAgent } from '#agent/start.ts';
import { createHost } from '#mcp-host/host.ts';
import { hostOptions } from '#mcp-host/setup.ts';
import { printBanner } from '#server/banner.ts';
import { startServer } from '#server/start.ts';
import { LIGHT_WORK } from './app.ts';
import type { ProductMessage, ProductRequest } from './products.ts';

/** What runs once the test file has ended has no client that waits for it. */
const GRACE_MS = 200;

interface Running {
  readonly directory: string;
  stop(): Promise<void>;
}

const running = new Map<number, Promise<Running>>();
const send = (message: ProductMessage) => process.send?.(message);

/** Server, host and agent of one installation, as `server/main.ts` and the programs that it starts compose them. */
async function start(id: number, variables: Record<string, string>): Promise<Running> {
  const print = { write: (text: string) => send({ kind: 'printed', id, text }) };
  const environment = withDevSecrets(variables);
  const { env } = parseEnv('server', environment);
  const server = await startServer(env, createLog(env.SVC_LOG_LEVEL, toStream(print)), { password_work: LIGHT_WORK });
  const beside = { ...environment, SVC_SERVER_URL: `http://127.0.0.1:${server.port}` };
  const others = env.SVC_ROLE === 'all' ? await startOthers(beside, print) : [];
  if (env.SVC_DEMO && (await createDemo(server.app))) await deployDemo(server.app);
  await printBanner(server.app, server.port, print.write);
  return {
    directory: env.SVC_DATA_DIR,
    async stop() {
      server.app.life.ending = true;
      await Promise.all(others.map((end) => end()));
      await server.stop();
      await rm(env.SVC_DATA_DIR, { recursive: true, force: true });
    },
  };
}

async function startOthers(
  environment: Record<string, string | undefined>,
  print: { write(text: string): unknown },
): Promise<(() => Promise<void>)[]> {
  const logOf = (env: Env, source: 'host' | 'agent') => createLog(env.SVC_LOG_LEVEL, toStream(print), source);
  const { env: host_env } = parseEnv('host', environment);
  const host = createHost(await hostOptions(host_env, logOf(host_env, 'host')));
  await host.start();
  const { env: agent_env } = parseEnv('agent', environment);
  const agent = startAgent(agent_env, logOf(agent_env, 'agent'), () => false);
  return [() => host.stop(GRACE_MS), () => agent.stop()];
}

process.on('message', (request: ProductRequest) => {
  const { id } = request;
  if (request.kind === 'start') {
    const starting = start(id, request.variables);
    running.set(id, starting);
    starting.then(
      () => send({ kind: 'started', id }),
      (error: unknown) => send({ kind: 'failed', id, reason: reasonOf(error) }),
    );
    return;
  }
  const stopping = running.get(id)?.then((product) => product.stop());
  stopping?.then(
    () => running.delete(id),
    (error: unknown) => process.stderr.write(`A product did not stop: ${reasonOf(error)}\n`),
  );
});

const reasonOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

// The tests have ended: nothing is worth finishing, and no folder is left.
process.on('disconnect', () => {
  void (async () => {
    for (const product of running.values()) {
      const { directory } = await product;
      await rm(directory, { recursive: true, force: true });
    }
    process.exit(0);
  })();
});
logUnhandled(createLog('ERROR', toStream(process.stderr)));
