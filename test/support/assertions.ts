import { randomUUID } from 'node:crypto';
import type { JWTHeaderParameters } from 'jose';
import type { TestApp } from './app.ts';
import { CALLBACK, CLAUDE_CODE, post } from './sign-in.ts';
import type { TestProvider } from './test-provider.ts';

export const ISSUER = 'http://localhost:3000';
export const RESOURCE = 'http://localhost:8080/mcp';
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

type Json = Record<string, unknown>;
type Form = Parameters<typeof post>[2];

/** Assertions of a provider at a test server whose clock is that of this machine. */
export function assertionsOf(t: TestApp, provider: TestProvider) {
  const claimsOf = (more: Json = {}): Json => {
    const now = Math.floor(t.app.clock().getTime() / 1_000);
    return {
      iss: provider.issuer,
      ...provider.person,
      aud: ISSUER,
      client_id: CLAUDE_CODE,
      jti: randomUUID(),
      iat: now,
      exp: now + 300,
      resource: RESOURCE,
      scope: 'mcp',
      ...more,
    };
  };
  const assertion = (claims: Json = {}, header: Partial<JWTHeaderParameters> = {}) =>
    provider.sign(claimsOf(claims), { typ: 'oauth-id-jag+jwt', ...header });
  const send = (text: string | undefined, form: Form = {}, headers: Record<string, string> = {}) =>
    post(t, '/oauth/token', { grant_type: JWT_BEARER, assertion: text, client_id: CLAUDE_CODE, ...form }, headers);
  return {
    claimsOf,
    assertion,
    /** The token request of a client with this assertion. */
    send,
    /** The whole exchange, with claims that differ from the usual ones. */
    exchange: async (claims: Json = {}, form: Form = {}) => send(await assertion(claims), form),
    /** A provider whose assertions are accepted from the usual client. */
    configure: async (more: object = {}): Promise<string> => {
      const draft = { name: 'Company', ...provider.client, accept_assertions: true, assertion_clients: [CLAUDE_CODE] };
      const { status, body } = await t.send('identity_providers.create', { ...draft, create_people: true, ...more });
      if (status !== 201) throw new Error(`The provider was refused: ${body.detail}`);
      return body.id;
    },
    /** An OAuth app with a secret, and the header that authenticates it. */
    confidentialApp: async (name = 'Desk') => {
      const app = await t.call('oauth_apps.create', { name, redirect_uris: [CALLBACK], confidential: true });
      const basic = (secret: string) => `Basic ${Buffer.from(`${app.client_id}:${secret}`).toString('base64')}`;
      return { ...app, basic: { authorization: basic(String(app.client_secret)) }, wrong: { authorization: basic('guessed') } };
    },
    /** Sign-in entries of the audit log about assertions, once they are written. */
    audited: async () =>
      (await t.call('audit.list', { kind: 'sign_in', limit: 500 })).items.filter(({ detail }) => detail['step'] === 'assertion'),
  };
}
