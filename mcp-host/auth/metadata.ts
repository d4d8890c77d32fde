import type { FrozenServer } from '#snapshots/format.ts';
import { SCOPE } from './access-tokens.ts';

const RESOURCE = '/.well-known/oauth-protected-resource';
const ISSUER = '/.well-known/oauth-authorization-server';

/** Where clients read how to authorise (RFC 9728 section 3.1), as an absolute URL. */
export function resourceMetadataUrl(resource: string): string {
  const { origin, pathname } = new URL(resource);
  return `${origin}${RESOURCE}${pathname}`;
}

/**
 * The metadata document of a path: RFC 9728 for the resource, RFC 8414 for the issuer of oauth_credentials, each at its
 * path-inserted address and at the root. Null: there is none.
 * @param resource URL of the MCP endpoint as this client asked for it.
 * @param issuer URL of the MCP endpoint that issues its tokens.
 */
export function metadataAt(path: string, server: FrozenServer, resource: string, issuer: string): object | null {
  const insertedIn = (well_known: string, url: string) => [`${well_known}/mcp`, `${well_known}${new URL(url).pathname}`];
  if (path === RESOURCE || insertedIn(RESOURCE, resource).includes(path)) return aboutResource(server, resource, issuer);
  if (server.auth_type !== 'oauth_credentials') return null;
  if (path === ISSUER) return aboutIssuer(new URL(issuer).origin, issuer);
  return insertedIn(ISSUER, issuer).includes(path) ? aboutIssuer(issuer, issuer) : null;
}

function aboutResource(server: FrozenServer, resource: string, issuer: string): object | null {
  const { auth_type, server_name, introspection_url, introspection_issuer } = server;
  if (auth_type === 'none') return null;
  const about = { resource, resource_name: server_name, bearer_methods_supported: ['header'] };
  if (auth_type === 'bearer') return about;
  const scopes = scopesOf(server);
  const scopes_supported = scopes.length === 0 ? {} : { scopes_supported: scopes };
  if (auth_type === 'oauth_credentials') return { ...about, authorization_servers: [issuer], ...scopes_supported };
  // Without a setting the best that is known of the issuer is where it answers introspection.
  const foreign = introspection_issuer ?? (introspection_url === null ? null : new URL(introspection_url).origin);
  return { ...about, ...(foreign !== null && { authorization_servers: [foreign] }), ...scopes_supported };
}

/** What a client asks its issuer for. */
export function scopesOf({ auth_type, introspection_scopes = [] }: FrozenServer): readonly string[] {
  if (auth_type === 'oauth_credentials') return [SCOPE];
  return auth_type === 'oauth_introspection' ? introspection_scopes : [];
}

/**
 * @param issuer must be the one that the document's address belongs to (RFC 8414 section 3.3).
 * @param endpoint where the endpoints of the issuer are.
 */
const aboutIssuer = (issuer: string, endpoint: string): object => ({
  issuer,
  token_endpoint: `${endpoint}/oauth/token`,
  // Needless for this grant, but official clients read no document without it. It answers that there is nothing here.
  authorization_endpoint: `${endpoint}/oauth/authorize`,
  grant_types_supported: ['client_credentials'],
  response_types_supported: [],
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  scopes_supported: [SCOPE],
});
