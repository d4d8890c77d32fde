import { isSameSecret } from '#core/edge/service-token.ts';
import { BASIC_CHALLENGE, type Login, loginsOf, NO_STORE, readTokenForm, refuseToken } from '#core/edge/token-form.ts';
import { isReference } from '#core/lib/sealed-values.ts';
import { readSecret, type SecretReader } from '#core/lib/secrets.ts';
import type { Log } from '#core/process/log.ts';
import { type Addresses, withoutEndSlashes } from '#core/edge/requested-address.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { noteRefusal } from '#mcp-host/protocol/refusal-notes.ts';
import { type AccessTokens, clientOf, SCOPE } from './access-tokens.ts';
import type { Attempts } from './attempts.ts';

export interface TokenEndpointOptions {
  readonly tokens: AccessTokens;
  readonly attempts: Attempts;
  /** Opens a client's secret. */
  readonly secrets: SecretReader;
  readonly addresses: Addresses;
  readonly log: Log;
}

/** @param addresses the MCP endpoint at the origin that the client requested, and its issuer. */
export type TokenEndpoint = (
  request: Request,
  server: FrozenServer,
  address: string,
  addresses: { readonly resource: string; readonly issuer: string },
) => Promise<Response>;

/** Adds the refusal to the list of refusals, which shows attempts to guess secrets. */
const refused: typeof refuseToken = (status, code, sentence, headers) =>
  noteRefusal(refuseToken(status, code, sentence, headers), sentence);

const UNKNOWN_CLIENT = 'The client is unknown or its secret is wrong.';

/** `POST /oauth/token` of `auth_type` oauth_credentials: the client credentials grant (RFC 6749 section 4.4). */
export function createTokenEndpoint({ tokens, attempts, secrets, addresses, log }: TokenEndpointOptions): TokenEndpoint {
  /** Runs the same steps for an unknown client and a wrong secret. Throws when the stored secret cannot be opened. */
  const isClient = async ({ client_id, client_secret }: Login, server: FrozenServer): Promise<boolean> => {
    const stored = clientOf(server, client_id)?.client_secret;
    const expected = stored && (await readSecret(stored, `server_config/oauth_clients/${client_id}/client_secret`, secrets));
    if (isSameSecret(client_secret, expected ?? '') && expected !== undefined) return true;
    if (expected === undefined || !isReference(stored)) return false;
    // The secret may have been replaced where the reference says.
    return isSameSecret(client_secret, await secrets.resolve(stored.ref, expected));
  };
  const clientAmong = async (logins: readonly Login[], server: FrozenServer): Promise<string | undefined> => {
    for (const login of logins) if (await isClient(login, server)) return login.client_id;
    return undefined;
  };

  return async (request, server, address, { resource, issuer }) => {
    if (server.auth_type !== 'oauth_credentials')
      return Response.json({ detail: 'This server issues no tokens.' }, { status: 404 });
    const before = blockedAnswer(attempts.blocked(address));
    if (before !== null) return before;
    const form = await readTokenForm(request);
    if (form instanceof Response) return form;
    const logins = loginsOf(request.headers.get('authorization'), form);
    if (logins instanceof Response) return logins;
    // Many bodies may arrive at once, and a secret may be read elsewhere, so only as many are checked at once as may still be wrong.
    const crowded = await attempts.enter(address);
    if (crowded !== null)
      return refused(crowded.status, 'temporarily_unavailable', crowded.message, {
        'retry-after': String(crowded.retry_after ?? 1),
      });
    let client_id: string | undefined;
    try {
      client_id = await clientAmong(logins, server);
      if (client_id === undefined) attempts.note(address);
    } catch (error) {
      log.error('client_not_checked', { error: String(error) });
      return refused(503, 'temporarily_unavailable', 'The client cannot be checked right now. See the log of the host.', {
        'retry-after': '5',
      });
    } finally {
      attempts.leave(address);
    }
    if (client_id === undefined) {
      log.warning('client_refused', { address });
      const challenge = request.headers.has('authorization') ? BASIC_CHALLENGE : {};
      return refused(401, 'invalid_client', UNKNOWN_CLIENT, challenge);
    }
    const grant_type = form.get('grant_type');
    if (grant_type === null) return refused(400, 'invalid_request', 'grant_type is missing; send client_credentials.');
    if (grant_type !== 'client_credentials') {
      return refused(400, 'unsupported_grant_type', 'grant_type must be client_credentials.');
    }
    const targets = form.getAll('resource').map(withoutEndSlashes);
    if (!targets.every((target) => addresses.include(target)))
      return refused(400, 'invalid_target', `resource must be ${resource}.`);
    const access_token = await tokens.issue(client_id, server, issuer, targets.length === 0 ? [issuer] : [...new Set(targets)]);
    const body = { access_token, token_type: 'Bearer', expires_in: server.token_ttl_seconds, scope: SCOPE };
    return Response.json(body, { headers: NO_STORE });
  };
}

function blockedAnswer(seconds: number): Response | null {
  if (seconds === 0) return null;
  const wait = { 'retry-after': String(seconds) };
  return refused(429, 'temporarily_unavailable', 'Too many failed attempts came from this address. Try again later.', wait);
}
