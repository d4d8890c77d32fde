import { withDevSecrets } from '#core/edge/dev-secrets.ts';
import { parseEnv, processEnvironment } from '#core/process/env.ts';
import { createLog, logUnhandled, toStream } from '#core/process/log.ts';
import { onStop, programCommand } from '#core/process/product.ts';
import { isFromServer, type ToServer } from './supervised.ts';
import { type Supervised, supervise } from './supervisor.ts';

/** A host takes at most 9.5 s to end its calls and report them; containers get 15 s. */
const GRACE_MS = 10_000;
/** The server ends its streams and requests in less. */
const SERVER_GRACE_MS = 4_000;
const PASS_ON_MS = 200;

/**
 * Runs the server, with the agent endpoint, and the host, each in a process that is restarted when it ends: without the server,
 * the host goes on serving.
 * It ends with the server's exit code when the server does not start.
 */
export function runAll(): void {
  const environment = withDevSecrets(processEnvironment());
  const { env } = parseEnv('server', environment);
  const log = createLog(env.SVC_LOG_LEVEL, toStream(process.stdout));
  logUnhandled(log);
  let host: Supervised | null = null;
  const startHost = (port: number): Supervised => {
    const SVC_SERVER_URL = env.SVC_SERVER_URL ?? `http://127.0.0.1:${port}`;
    return supervise('host', programCommand('host'), { ...environment, SVC_SERVER_URL }, log);
  };
  const server_environment: Record<string, string | undefined> = { ...environment, SVC_ROLE: 'all' };
  const server = supervise('server', programCommand('server-child'), server_environment, log, {
    onMessage(message) {
      if (!isFromServer(message)) return;
      if ('signalled' in message) {
        passOn();
        return;
      }
      // A server that is restarted has to be where the host looks for it.
      server_environment['SVC_PORT'] = String(message.port);
      host ??= startHost(message.port);
    },
    onEnd(code) {
      if (host === null) process.exit(code);
    },
  });
  const notify = (message: ToServer) => server.send(message);
  const isStopping = onStop(async () => {
    // The server answers the last reports of the host.
    notify({ stop: false });
    await host?.stop(GRACE_MS);
    notify({ stop: true });
    await server.stop(SERVER_GRACE_MS);
  }, ['SIGTERM', 'SIGINT', 'SIGHUP']);
  // A signal to the whole group arrives here too.
  const passOn = () => setTimeout(() => !isStopping() && process.kill(process.pid, 'SIGTERM'), PASS_ON_MS);
}
