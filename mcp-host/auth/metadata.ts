import { withoutEndSlashes } from '#core/edge/requested-address.ts';
import { endpointOf, SSE_PATH } from '#core/edge/mcp-endpoint.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { SCOPE } from './access-tokens.ts';
import type { Scheme } from './scheme.ts';

const RESOURCE = '/.well-known/oauth-protected-resource';
const ISSUER = '/.well-known/oauth-authorization-server';

/** The absolute URL at which clients read how to authorise (RFC 9728 section 3.1). */
export function resourceMetadataUrl(resource: string): string {
  const { origin, pathname } = new URL(resource);
  return `${origin}${RESOURCE}${pathname}`;
}

/**
 * The metadata document of a path: RFC 9728 for the resource, RFC 8414 for the issuer of oauth_credentials, each at its
 * path-inserted address and at the root. Null: there is none.
 * @param requested_path path of the document, with or without a slash at its end.
 * @param resource URL of the MCP endpoint as this client requested it. @param sse the same for the transport of 2024-11-05.
 * @param issuer URL of the MCP endpoint that issues its tokens.
 */
export function metadataAt(
  requested_path: string,
  server: FrozenServer,
  scheme: Scheme | null,
  { resource, sse, issuer }: { readonly resource: string; readonly sse: string; readonly issuer: string },
): object | null {
  const path = withoutEndSlashes(requested_path);
  const is_sse = server.transport === 'sse' && insertedIn(RESOURCE, sse, SSE_PATH).includes(path);
  const described = is_sse ? { url: sse, path: '' } : resourceAt(path, resource);
  if (described !== null) return scheme && aboutResource(server, scheme, described, issuer);
  if (server.auth_type !== 'oauth_credentials') return null;
  if (path === ISSUER) return aboutIssuer(new URL(issuer).origin, issuer);
  return insertedIn(ISSUER, issuer).includes(path) ? aboutIssuer(issuer, issuer) : null;
}

const insertedIn = (well_known: string, url: string, path = '/mcp'): string[] => [
  `${well_known}${path}`,
  `${well_known}${new URL(url).pathname}`,
];

/** The subject of a document. */
interface Described {
  readonly url: string;
  /** The part of the endpoint's path after `/mcp`. */
  readonly path: string;
}

/** The endpoint whose metadata a path names: `/mcp` or one below it, even if its toolset does not exist. */
function resourceAt(path: string, resource: string): Described | null {
  if (path === RESOURCE) return { url: resource, path: '' };
  const at = insertedIn(RESOURCE, resource).find((base) => path === base || path.startsWith(`${base}/`));
  const endpoint = at === undefined ? null : endpointOf(path.slice(at.length));
  return endpoint === null ? null : { url: `${resource}${endpoint.path}`, path: endpoint.path };
}

function aboutResource(server: FrozenServer, { issuers, scopes }: Scheme, { url, path }: Described, issuer: string): object {
  const authorization_servers = issuers?.(server, issuer) ?? [];
  const scopes_supported = scopes?.(server, path) ?? [];
  return {
    resource: url,
    resource_name: server.server_name,
    bearer_methods_supported: ['header'],
    ...(authorization_servers.length > 0 && { authorization_servers }),
    ...(scopes_supported.length > 0 && { scopes_supported }),
  };
}

/**
 * @param issuer must be the one that the document's address belongs to (RFC 8414 section 3.3).
 * @param endpoint where the endpoints of the issuer are.
 */
const aboutIssuer = (issuer: string, endpoint: string): object => ({
  issuer,
  token_endpoint: `${endpoint}/oauth/token`,
  // This grant does not need it, but official clients reject a document without it. The endpoint answers with an error.
  authorization_endpoint: `${endpoint}/oauth/authorize`,
  grant_types_supported: ['client_credentials'],
  response_types_supported: [],
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  scopes_supported: [SCOPE],
});
