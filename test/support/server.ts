import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from '#core/process/env.ts';
import { createLog, type Log, type LogLine } from '#core/process/log.ts';
import { type RunningServer, type StartOptions, startServer } from '#server/start.ts';
import { LIGHT_WORK } from './app.ts';
import { type Calls, callsOver, type Problem } from './calls.ts';

const SECRET = 'k'.repeat(16) + '0123456789abcdefg';

/** `call` and `send` are those of the administrator. */
export interface ListeningServer extends Calls {
  readonly server: RunningServer;
  readonly url: string;
  readonly log: Log;
  /** Every line that was logged. */
  readonly lines: readonly LogLine[];
  readonly directory: string;
  readonly service_token: string;
  /** A REST call with the administrator's cookie. */
  api(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: Partial<Problem> & Record<string, unknown> }>;
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
  const request = async (path: string, init: RequestInit, anonymous = false): Promise<Response> => {
    const headers = new Headers(anonymous ? {} : { cookie });
    new Headers(init.headers).forEach((value, name) => headers.set(name, value));
    const response = await fetch(`${url}${path}`, { ...init, headers });
    if (!anonymous) cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie;
    return response;
  };
  const api: ListeningServer['api'] = async (method, path, body) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await request(`/api/v1${path}`, { method, headers: { 'content-type': 'application/json' }, ...sent });
    const text = await response.text();
    return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
  };
  return {
    server,
    url,
    log,
    lines,
    directory,
    service_token: SECRET,
    api,
    ...callsOver((path, init, { anonymous }) => request(path, init, anonymous)),
    async signIn() {
      const account = { username: 'ada', password: 'correct horse' };
      const { status } = await api('POST', '/auth/setup', account);
      if (status !== 201) await api('POST', '/auth/login', account);
      return cookie;
    },
    async stop() {
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
