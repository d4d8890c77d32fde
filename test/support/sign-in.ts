import { createHash, randomBytes } from 'node:crypto';
import type { TestApp } from './app.ts';

export const CALLBACK = 'http://127.0.0.1:7777/callback';
export const VERIFIER = randomBytes(32).toString('base64url');
export const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');
export const CLAUDE_CODE = 'https://claude.ai/oauth/claude-code-client-metadata';

type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A query without what is undefined. */
export function toQuery(given: Query): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) {
    for (const one of typeof value === 'object' ? value : [value]) if (one !== undefined) query.append(name, one);
  }
  return query.toString();
}

/** The request of an MCP client that knows what it does. */
export const asked = (more: Query = {}): Query => ({
  response_type: 'code',
  client_id: CLAUDE_CODE,
  redirect_uri: CALLBACK,
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256',
  state: 'some-state',
  resource: 'http://localhost:8080/mcp',
  ...more,
});

/** One browser: it keeps the session, and the cookie that binds a request to it. */
export function createBrowser(t: TestApp) {
  const jar = new Map<string, string>();
  const send: TestApp['request'] = async (method, path, options = {}) => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await t.request(method, path, {
      ...options,
      anonymous: true,
      headers: { ...(cookie === '' ? {} : { cookie }), ...options.headers },
    });
    for (const set of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      jar.set(name, value);
    }
    return answer;
  };
  return {
    jar,
    send,
    async signIn(username = 'ada', password = 'correct horse') {
      return send('POST', '/api/v1/auth/login', { body: { username, password } });
    },
    /** @returns the id of the request that waits for a decision. */
    async authorize(more: Query = {}) {
      const answer = await send('GET', `/oauth/authorize?${toQuery(asked(more))}`);
      const location = answer.headers.get('location') ?? '';
      return { ...answer, location, request: /^\/oauth\/consent\?request=(\w+)$/.exec(location)?.[1] ?? '' };
    },
    decide: (request: string, body: object = { decision: 'approve' }, headers: Record<string, string> = {}) =>
      send('POST', `/api/v1/oauth/requests/${request}`, { body, headers }),
    /** @returns the code, from the request to the approval. */
    async code(more: Query = {}, body: object = { decision: 'approve' }) {
      const { request } = await this.authorize(more);
      const answer = await this.decide(request, body);
      return new URL(String(answer.body['redirect_to'])).searchParams.get('code') ?? '';
    },
  };
}
export type Browser = ReturnType<typeof createBrowser>;

/** A form to one of the endpoints of the authorization server, from a client that has no cookies. */
export const post = (t: TestApp, path: string, form: Query, headers: Record<string, string> = {}) =>
  t.request('POST', path, {
    anonymous: true,
    raw: toQuery(form),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });

/** The token request that follows `asked`. */
export const exchanged = (code: string, more: Query = {}): Query => ({
  grant_type: 'authorization_code',
  code,
  redirect_uri: CALLBACK,
  client_id: CLAUDE_CODE,
  code_verifier: VERIFIER,
  resource: 'http://localhost:8080/mcp',
  ...more,
});

/** Everything from the request to the tokens. */
export async function tokens(t: TestApp, browser: Browser, more: Query = {}, exchange: Query = {}) {
  const { body, status } = await post(t, '/oauth/token', exchanged(await browser.code(more), exchange));
  return { status, body, access: String(body['access_token']), refresh: String(body['refresh_token']) };
}

export const refreshed = (refresh_token: string, more: Query = {}): Query => ({
  grant_type: 'refresh_token',
  refresh_token,
  client_id: CLAUDE_CODE,
  ...more,
});
