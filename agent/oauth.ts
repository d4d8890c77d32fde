import { BASIC_CHALLENGE, loginsOf, NO_STORE, readTokenForm, refuseToken } from '#core/edge/token-form.ts';
import { AppError } from '#core/errors.ts';
import type { ServerLink } from './server-link.ts';
import { hostName, isLoopbackName } from '#core/edge/origins.ts';

const SCOPES: readonly string[] = ['read', 'write', 'deploy', 'propose'];

/** The scopes that a client should request. `propose` is an alternative that people choose. */
export const DEFAULT_SCOPES: readonly string[] = ['read', 'write', 'deploy'];

const PROTECTED = '/.well-known/oauth-protected-resource';

const AUTHORIZATION = '/.well-known/oauth-authorization-server';

export const MCP_PATHS: readonly string[] = ['/agent-mcp', '/agent-mcp/mcp'];

const IN_PATHS = [PROTECTED, AUTHORIZATION];

export const isMetadataPath = (path: string): boolean => IN_PATHS.some((known) => path.startsWith(known));

/** Where a client without a valid token learns how to get one. */
export const metadataUrl = (requested_url: string, path: string): string => `${requested_url}${PROTECTED}${path}`;

const FIELDS = ['grant_type', 'refresh_token', 'scope', 'client_id', 'client_secret'];

/** The token endpoint: a form, the client in it or in HTTP Basic (RFC 6749, section 2.3.1). */
export async function answerToken(link: ServerLink, request: Request, client_address: string | null): Promise<Response> {
  const sent = await readTokenForm(request);
  if (sent instanceof Response) return sent;
  const logins = loginsOf(request.headers.get('authorization'), sent);
  if (logins instanceof Response) return logins;
  const fields = FIELDS.flatMap((name) => (sent.has(name) ? [[name, sent.get(name)] as const] : []));
  // Sluice generates secrets from letters that need no decoding in either form.
  const form: Record<string, string | null> = { client_address, ...Object.fromEntries(fields), ...logins[0] };
  try {
    const { status, body } = await link.token(form);
    const challenge = status === 401 ? BASIC_CHALLENGE : {};
    return Response.json(body, { status, headers: { ...NO_STORE, ...challenge } });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const headers = error.retry_after === undefined ? {} : { 'retry-after': String(error.retry_after) };
    const code = error.status >= 500 || error.status === 429 ? 'temporarily_unavailable' : 'invalid_request';
    return refuseToken(error.status, code, error.detail, headers);
  }
}

/** Clients authenticate with a secret, so there is no page to sign in. */
export const answerAuthorize = (): Response =>
  refuseToken(
    400,
    'unsupported_response_type',
    'This server supports only client_credentials. Get a token from /agent-mcp/oauth/token with a client secret.',
  );

/**
 * Metadata documents by path: path-inserted, and at the root of the port that serves only this (RFC 9728, RFC 8414).
 * @param requested_url base of the address that this client requested.
 * @param issuer_url base of the address that tokens of clients with a secret come from.
 * @param people_issuer where people sign in; null: they cannot.
 */
export function metadataDocuments(
  requested_url: string,
  issuer_url: string,
  people_issuer: string | null,
): ReadonlyMap<string, object> {
  const issuer = `${issuer_url}/agent-mcp`;
  const resource = (path: string) => ({
    resource: `${requested_url}${path}`,
    authorization_servers: issuersFor(requested_url, issuer, people_issuer),
    scopes_supported: SCOPES,
    bearer_methods_supported: ['header'],
    resource_name: 'Sluice agent endpoint',
  });
  const authorization = {
    issuer,
    // Required by the official clients, whatever grant they use; it refuses with a sentence.
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    grant_types_supported: ['client_credentials', 'refresh_token'],
    response_types_supported: [],
    scopes_supported: SCOPES,
  };
  return new Map<string, object>([
    ...MCP_PATHS.map((path) => [`${PROTECTED}${path}`, resource(path)] as const),
    [PROTECTED, resource('/agent-mcp')],
    [`${AUTHORIZATION}/agent-mcp`, authorization],
    [AUTHORIZATION, authorization],
  ]);
}

/**
 * Some clients read only the first issuer. That is where people sign in, which accepts clients with a secret too, unless the
 * client cannot reach it.
 */
function issuersFor(requested_url: string, issuer: string, people_issuer: string | null): string[] {
  if (people_issuer === null) return [issuer];
  const isLocal = (url: string) => isLoopbackName(hostName(new URL(url).host) ?? '');
  return isLocal(people_issuer) && !isLocal(requested_url) ? [issuer, people_issuer] : [people_issuer, issuer];
}
