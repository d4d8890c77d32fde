import { createHash, timingSafeEqual } from 'node:crypto';
import { readForm } from '#core/edge/body.ts';
import { AppError, asFault } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { Addresses } from '#core/edge/asked-address.ts';
import type { FrozenServer } from '#snapshots/format.ts';
import { type AccessTokens, clientOf, SCOPE } from './access-tokens.ts';
import type { Attempts } from './attempts.ts';

/** Errors of RFC 6749 section 5.2, and of RFC 8707 section 2. */
type OauthError = 'invalid_request' | 'invalid_client' | 'unsupported_grant_type' | 'invalid_target' | 'temporarily_unavailable';

export interface TokenEndpointOptions {
  readonly tokens: AccessTokens;
  readonly attempts: Attempts;
  /** Opens a client's secret at its place. */
  readonly openSecret: (sealed: string, place: string) => string;
  readonly addresses: Addresses;
  readonly log: Log;
}

/** @param asked the MCP endpoint at the origin that the client asked for. */
export type TokenEndpoint = (
  request: Request,
  server: FrozenServer,
  address: string,
  asked: { readonly resource: string; readonly issuer: string },
) => Promise<Response>;

/** Repeated parameters are a fault (RFC 6749 section 3.2), but for `resource`. */
const ONCE = ['grant_type', 'client_id', 'client_secret', 'scope'];
const NO_STORE = { 'cache-control': 'no-store', pragma: 'no-cache' };
const NOBODY = 'The client is unknown or its secret is wrong.';

interface Login {
  readonly client_id: string;
  readonly client_secret: string;
}

/** `POST /oauth/token` of `auth_type` oauth_credentials: the client credentials grant (RFC 6749 section 4.4). */
export function createTokenEndpoint({ tokens, attempts, openSecret, addresses, log }: TokenEndpointOptions): TokenEndpoint {
  /** Takes the same way for an unknown client and a wrong secret. Throws when the stored secret cannot be opened. */
  const isClient = ({ client_id, client_secret }: Login, server: FrozenServer): boolean => {
    const sealed = clientOf(server, client_id)?.client_secret.$sealed;
    const expected = sealed && openSecret(sealed, `server_config/oauth_clients/${client_id}/client_secret`);
    return timingSafeEqual(sha256(client_secret), sha256(expected ?? '')) && expected !== undefined;
  };

  return async (request, server, address, { resource, issuer }) => {
    if (server.auth_type !== 'oauth_credentials')
      return Response.json({ detail: 'This server issues no tokens.' }, { status: 404 });
    if (request.method !== 'POST') return refused(405, 'invalid_request', 'Use POST.', { allow: 'POST' });
    const before = blockedAnswer(attempts.blocked(address));
    if (before !== null) return before;
    const form = await readForm(request).catch(asFault);
    if (form instanceof AppError) return refused(form.code === 'too_large' ? 413 : 400, 'invalid_request', form.detail);
    const repeated = ONCE.find((name) => form.getAll(name).length > 1);
    if (repeated !== undefined) return refused(400, 'invalid_request', `${repeated} is given twice.`);
    // Slow bodies arrive together: each meets what those before it have failed, up to the moment in which it is judged itself.
    const since = blockedAnswer(attempts.blocked(address));
    if (since !== null) return since;
    const logins = loginsOf(request.headers.get('authorization'), form);
    if (typeof logins === 'string') return refused(400, 'invalid_request', logins);
    let client_id: string | undefined;
    try {
      client_id = logins.find((login) => isClient(login, server))?.client_id;
    } catch (error) {
      log.error('client_not_checked', { error: String(error) });
      return refused(503, 'temporarily_unavailable', 'The client cannot be checked right now. See the log of the host.', {
        'retry-after': '5',
      });
    }
    if (client_id === undefined) {
      attempts.note(address);
      log.warning('client_refused', { address });
      const challenge = request.headers.has('authorization') ? { 'www-authenticate': 'Basic realm="mcp"' } : {};
      return refused(401, 'invalid_client', NOBODY, challenge);
    }
    const grant_type = form.get('grant_type');
    if (grant_type === null) return refused(400, 'invalid_request', 'grant_type is missing; send client_credentials.');
    if (grant_type !== 'client_credentials') {
      return refused(400, 'unsupported_grant_type', 'grant_type must be client_credentials.');
    }
    const targets = form.getAll('resource').map((target) => target.replace(/\/+$/, ''));
    if (!targets.every((target) => addresses.include(target)))
      return refused(400, 'invalid_target', `resource must be ${resource}.`);
    const access_token = await tokens.issue(client_id, server, issuer, targets.length === 0 ? [issuer] : [...new Set(targets)]);
    const body = { access_token, token_type: 'Bearer', expires_in: server.token_ttl_seconds, scope: SCOPE };
    return Response.json(body, { headers: NO_STORE });
  };
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

function blockedAnswer(seconds: number): Response | null {
  if (seconds === 0) return null;
  const wait = { 'retry-after': String(seconds) };
  return refused(429, 'temporarily_unavailable', 'Too many failed attempts came from this address. Try again later.', wait);
}

/**
 * Client id and secret from the header or the body, never from both (RFC 6749 section 2.3.1); a string is the fault. In the
 * header both are form-encoded before Base64, which many clients forget: it has two readings.
 */
function loginsOf(header: string | null, form: URLSearchParams): Login[] | string {
  const [id, secret] = [form.get('client_id'), form.get('client_secret')];
  if (header === null) return id === null || secret === null ? [] : [{ client_id: id, client_secret: secret }];
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header.trim())?.[1];
  if (encoded === undefined) return 'Authorization must be Basic with client id and secret.';
  if (secret !== null) return 'The client secret is given twice: in the header and in the body.';
  const [name = '', ...rest] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  const plain = { client_id: name, client_secret: rest.join(':') };
  const logins = [{ client_id: decodeForm(name), client_secret: decodeForm(plain.client_secret) }, plain];
  const named = id === null ? logins : logins.filter((login) => login.client_id === id);
  return named.length > 0 ? named : 'client_id in the body differs from the header.';
}

function decodeForm(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

const refused = (status: number, error: OauthError, detail: string, headers: Record<string, string> = {}): Response =>
  Response.json({ error, error_description: detail, detail }, { status, headers: { ...NO_STORE, ...headers } });
