import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from '#core/env.ts';
import { createLog, type Log, type LogLine } from '#core/log.ts';
import { type RunningServer, type StartOptions, startServer } from '#server/start.ts';
import { LIGHT_WORK } from './app.ts';

const SECRET = 'k'.repeat(16) + '0123456789abcdefg';

export interface ListeningServer {
  readonly server: RunningServer;
  readonly url: string;
  readonly log: Log;
  /** Every line that was logged. */
  readonly lines: readonly LogLine[];
  readonly directory: string;
  readonly service_token: string;
  /** A REST call with the administrator's cookie. */
  api(method: string, path: string, body?: unknown): Promise<{ status: number; body: Record<string, unknown> }>;
  /** The cookie of the administrator, who is created or signed in. */
  signIn(): Promise<string>;
  stop(): Promise<void>;
}

/** A server that listens on a free port of this machine, in this process. */
export async function listeningServer(
  database_url?: string,
  variables: Record<string, string> = {},
  options: StartOptions = {},
): Promise<ListeningServer> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-server-'));
  const { env } = parseEnv('server', {
    SVC_ENV: 'dev',
    SVC_KV: 'memory',
    SVC_PORT: '0',
    SVC_ENCRYPTION_KEY: SECRET,
    SVC_JWT_SECRET: SECRET,
    SVC_AGENT_SERVICE_TOKEN: SECRET,
    SVC_DATA_DIR: directory,
    SVC_GENERATED_DIR: join(directory, 'generated'),
    ...(database_url === undefined ? {} : { SVC_DATABASE_URL: database_url }),
    ...variables,
  });
  const lines: LogLine[] = [];
  const log = createLog('DEBUG', (line) => lines.push(line));
  const server = await startServer(env, log, { password_work: LIGHT_WORK, ...options });
  const url = `http://${env.SVC_BIND}:${server.port}`;
  let cookie = '';
  const send = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { cookie, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie;
    const text = await response.text();
    return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> };
  };
  return {
    server,
    url,
    log,
    lines,
    directory,
    service_token: SECRET,
    api: send,
    async signIn() {
      const account = { username: 'ada', password: 'correct horse' };
      const { status } = await send('POST', '/auth/setup', account);
      if (status !== 201) await send('POST', '/auth/login', account);
      return cookie;
    },
    async stop() {
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
