import { type ControlPlane, type ControlPlaneOptions, createControlPlane } from '#core/control-plane/control-plane.ts';
import type { PasswordWork } from '#core/identity/passwords.ts';
import type { LogLine } from '#core/process/log.ts';
import { WAITS } from '#core/platform/platform.ts';
import { createHttp } from '#server/http/http.ts';
import { type Calls, callsOver, type Problem } from './calls.ts';
import type { Dialect } from './metadata.ts';
import { testGround } from './platform.ts';

export interface Answer {
  readonly status: number;
  readonly body: Partial<Problem> & Record<string, unknown>;
  readonly headers: Headers;
}

export interface TestApp extends Calls {
  readonly app: ControlPlane;
  readonly directory: string;
  /** Every log line so far. */
  readonly log: LogLine[];
  /** Moves the clock. */
  advance(ms: number): void;
  /** A request as it stands; `cookie` is that of the last sign-in unless `anonymous`. */
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  /** Creates the administrator, or signs in where another server of the database has, and keeps the cookie. */
  signIn(): Promise<void>;
  close(): Promise<void>;
}

export interface RequestOptions {
  readonly body?: unknown;
  readonly raw?: string;
  readonly headers?: Record<string, string>;
  readonly anonymous?: boolean;
}

export interface TestAppOptions extends Pick<
  ControlPlaneOptions,
  'password_work' | 'fetch_document' | 'waits' | 'writes_projects'
> {
  /** Instead of the store of this run. */
  readonly metadata?: Dialect;
}

/** Hashing a password costs as little as it can: tests sign in again and again. */
export const LIGHT_WORK: PasswordWork = { memory_kib: 8, passes: 1 };

/**
 * A whole server in this process: a fresh store (embedded, or PostgreSQL when TEST_METADATA says so), a clock that stands still, its own
 * folder. Deployed projects are not written unless the test looks at them: that starts a program for each deploy.
 */
export async function testApp(
  variables: Record<string, string> = {},
  database_url?: string,
  { password_work = LIGHT_WORK, metadata, fetch_document, waits = WAITS, writes_projects = false }: TestAppOptions = {},
): Promise<TestApp> {
  const ground = await testGround(variables, database_url, metadata);
  const { directory, lines } = ground;
  const app = await createControlPlane({
    ...ground.options,
    password_work,
    waits,
    writes_projects,
    ...(fetch_document === undefined ? {} : { fetch_document }),
  });
  const http = createHttp(app);
  let cookie = '';
  const fetch = async (path: string, init: RequestInit, anonymous = false): Promise<Response> => {
    const headers = new Headers({ host: 'localhost', ...(cookie === '' || anonymous ? {} : { cookie }) });
    new Headers(init.headers).forEach((value, name) => headers.set(name, value));
    const request = new Request(`http://localhost${path}`, { ...init, headers });
    const response = await http.fetch(request, { address: '192.0.2.1' });
    const set = response.headers.get('set-cookie');
    if (set !== null && !anonymous) cookie = set.split(';')[0] ?? '';
    return response;
  };
  const request: TestApp['request'] = async (method, path, { body, raw, headers, anonymous } = {}) => {
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const content_type = sent === undefined ? {} : { 'content-type': 'application/json' };
    const init = { method, headers: { ...content_type, ...headers }, ...(sent === undefined ? {} : { body: sent }) };
    const response = await fetch(path, init, anonymous);
    const text = await response.text();
    const json = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
    return { status: response.status, headers: response.headers, body: json && text !== '' ? JSON.parse(text) : { text } };
  };
  return {
    app,
    directory,
    log: lines,
    advance: ground.advance,
    request,
    ...callsOver((path, init, { anonymous }) => fetch(path, init, anonymous)),
    async signIn() {
      const account = { username: 'ada', password: 'correct horse' };
      const { status } = await request('POST', '/api/v1/auth/setup', { body: account });
      if (status !== 201) await request('POST', '/api/v1/auth/login', { body: account });
    },
    async close() {
      await app.close();
      await ground.release();
    },
  };
}

const PROBLEM = /^(detail|type,title,status,detail,code,errors,request_id(,position)?)$/;

/** The forms of every error answer (contract section 1): a sentence alone, or a problem with its code and fields. */
export function isErrorBody(body: unknown): boolean {
  return (
    typeof body === 'object' &&
    body !== null &&
    PROBLEM.test(Object.keys(body).join()) &&
    typeof (body as { detail: unknown }).detail === 'string' &&
    /^[A-Z0-9a-z_].*[.?]$/s.test((body as { detail: string }).detail)
  );
}
