import { createHash, randomUUID } from 'node:crypto';
import { createLocalJWKSet, exportJWK, generateKeyPair, type JWTHeaderParameters, jwtVerify, SignJWT } from 'jose';

type Json = Record<string, unknown>;
type Answer = Json | Response | Promise<Json | Response>;

/** What this provider does otherwise than it should. */
export interface Tricks {
  readonly metadata?: (document: Json) => Answer;
  readonly jwks?: (keys: Json) => Answer;
  readonly token?: (answer: Json) => Answer;
  readonly userinfo?: (claims: Json) => Answer;
  readonly header?: Partial<JWTHeaderParameters>;
  readonly claims?: (claims: Json) => Json;
  /** Makes the whole ID token. */
  readonly sign?: (claims: Json) => Promise<string> | string;
  /** Changes where the browser is sent back to. */
  readonly back?: (url: URL) => void;
}

export interface TestProvider {
  readonly issuer: string;
  readonly client: { readonly issuer: string; readonly client_id: string; readonly client_secret: string };
  /** Set by a test. */
  tricks: Tricks;
  /** Claims of whoever signs in next. */
  person: Json;
  /** Only in userinfo. */
  userinfo: Json;
  /** Paths that were asked for. */
  readonly asked: string[];
  /** The client of another server for which this provider issues assertions; null: its policy allows none. */
  assertion_client: string | null;
  /** Signs claims with the present key. */
  sign(claims: Json, header?: Partial<JWTHeaderParameters>): Promise<string>;
  /** The ID token of `person` for its client. */
  idToken(): Promise<string>;
  /** From now on another key signs, and it alone is published. */
  rotate(): Promise<void>;
  close(): Promise<void>;
}

const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';

interface Code {
  readonly nonce: string | null;
  readonly challenge: string | null;
  readonly redirect_uri: string;
  readonly person: Json;
}

const newKey = async () => {
  const kid = randomUUID();
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  return { kid, privateKey, public: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' } };
};

/** An OpenID Connect provider of this process that asks nobody anything, and is as hostile as `tricks` says. */
export async function openTestProvider(): Promise<TestProvider> {
  const codes = new Map<string, Code>();
  const asked: string[] = [];
  let key = await newKey();

  const sign: TestProvider['sign'] = (claims, header) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: key.kid, ...header }).sign(key.privateKey, { crit: { x: true } });
  const idToken = async (code: Pick<Code, 'nonce' | 'person'>): Promise<string> => {
    const now = Math.floor(Date.now() / 1_000);
    const { issuer, client } = provider;
    const usual = { iss: issuer, aud: client.client_id, iat: now, exp: now + 300, nonce: code.nonce, ...code.person };
    const claims = provider.tricks.claims?.(usual) ?? usual;
    if (provider.tricks.sign !== undefined) return provider.tricks.sign(claims);
    return sign(claims, provider.tricks.header);
  };
  /** An assertion for an ID token (RFC 8693, draft-ietf-oauth-identity-assertion-authz-grant section 4.3). */
  const exchange = async (form: URLSearchParams): Promise<Json | Response> => {
    const { issuer, client, assertion_client } = provider;
    const [id, secret] = [form.get('client_id'), form.get('client_secret')];
    if (id !== client.client_id || secret !== client.client_secret)
      return Response.json({ error: 'invalid_client' }, { status: 401 });
    const options = { issuer, audience: client.client_id };
    const { payload } = await jwtVerify(form.get('subject_token') ?? '', createLocalJWKSet({ keys: [key.public] }), options);
    if (assertion_client === null || form.get('requested_token_type') !== ID_JAG) {
      return Response.json(
        { error: 'invalid_grant', error_description: 'The policy of the company does not allow it.' },
        { status: 400 },
      );
    }
    const now = Math.floor(Date.now() / 1_000);
    const [aud, resource, scope] = [form.get('audience'), form.get('resource'), form.get('scope')];
    const claims = {
      iss: issuer,
      sub: payload.sub,
      preferred_username: payload['preferred_username'],
      aud,
      resource,
      client_id: assertion_client,
      jti: randomUUID(),
      iat: now,
      exp: now + 300,
    };
    const assertion = await sign({ ...claims, ...(scope !== null && { scope }) }, { typ: 'oauth-id-jag+jwt' });
    return { issued_token_type: ID_JAG, access_token: assertion, token_type: 'N_A', expires_in: 300 };
  };
  const authorize = (url: URL): Response => {
    const query = url.searchParams;
    const code = randomUUID();
    const redirect_uri = query.get('redirect_uri') ?? '';
    const person = provider.person;
    codes.set(code, { nonce: query.get('nonce'), challenge: query.get('code_challenge'), redirect_uri, person });
    const back = new URL(redirect_uri);
    back.searchParams.set('code', code);
    back.searchParams.set('state', query.get('state') ?? '');
    back.searchParams.set('iss', provider.issuer);
    provider.tricks.back?.(back);
    return Response.redirect(back.href, 302);
  };
  const token = async (request: Request): Promise<Json | Response> => {
    const form = new URLSearchParams(await request.text());
    if (form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:token-exchange') return exchange(form);
    const { client_id, client_secret } = provider.client;
    const encoded = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
    // RFC 6749, section 2.3.1.
    const login = `Basic ${Buffer.from(`${encoded(client_id)}:${encoded(client_secret)}`).toString('base64')}`;
    if (request.headers.get('authorization') !== login) return Response.json({ error: 'invalid_client' }, { status: 401 });
    const code = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (code === undefined || code.challenge !== challenge || code.redirect_uri !== form.get('redirect_uri')) {
      return Response.json({ error: 'invalid_grant' }, { status: 400 });
    }
    return { access_token: randomUUID(), token_type: 'Bearer', expires_in: 300, id_token: await idToken(code) };
  };
  const metadata = (): Json => ({
    issuer: provider.issuer,
    authorization_endpoint: `${provider.issuer}/authorize`,
    token_endpoint: `${provider.issuer}/token`,
    jwks_uri: `${provider.issuer}/jwks`,
    userinfo_endpoint: `${provider.issuer}/userinfo`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    scopes_supported: ['openid', 'email', 'profile', 'groups'],
    id_token_signing_alg_values_supported: ['ES256'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  });
  const answer = async (value: Answer): Promise<Response> => {
    const settled = await value;
    return settled instanceof Response ? settled : Response.json(settled);
  };
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const url = new URL(request.url);
      const { tricks } = provider;
      asked.push(url.pathname);
      switch (url.pathname) {
        case '/.well-known/openid-configuration':
          return answer(tricks.metadata?.(metadata()) ?? metadata());
        case '/authorize':
          return authorize(url);
        case '/jwks':
          return answer(tricks.jwks?.({ keys: [key.public] }) ?? { keys: [key.public] });
        case '/token': {
          const told = await token(request);
          return answer(told instanceof Response ? told : (tricks.token?.(told) ?? told));
        }
        case '/userinfo': {
          const claims = { sub: provider.person['sub'], ...provider.userinfo };
          return answer(tricks.userinfo?.(claims) ?? claims);
        }
        default:
          return new Response(null, { status: 404 });
      }
    },
  });
  const issuer = `http://127.0.0.1:${server.port}`;
  const provider: TestProvider = {
    issuer,
    client: { issuer, client_id: 'sluice', client_secret: 'a client secret nobody sees' },
    tricks: {},
    person: { sub: 'person-1', name: 'Grace Hopper', email: 'grace@example.com', email_verified: true },
    userinfo: {},
    asked,
    assertion_client: null,
    sign,
    idToken: () => idToken({ nonce: null, person: provider.person }),
    async rotate() {
      key = await newKey();
    },
    close: () => server.stop(true),
  };
  return provider;
}

/** An answer that sends a little and then nothing more. */
export const stalled = (): Response =>
  new Response(new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('{"issuer":')) }), {
    headers: { 'content-type': 'application/json' },
  });

/** A JSON text of 8 MiB. */
export const huge = (): Response =>
  new Response(JSON.stringify({ padding: 'x'.repeat(8 * 1024 * 1024) }), { headers: { 'content-type': 'application/json' } });
