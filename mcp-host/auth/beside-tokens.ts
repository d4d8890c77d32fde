import { type Bearer, isTokenOwner } from './bearer.ts';
import type { Credential, Scheme } from './scheme.ts';

/** `accept_mcp_tokens`: access tokens made here count beside those that another scheme accepts. */
export function besideTokens(bearer: Bearer, scheme: Scheme): Scheme {
  const schemeOf = ({ token }: Credential): Scheme => (token.startsWith(TOKEN_PREFIX) ? bearer : scheme);
  return {
    ...scheme,
    recall: (credential, server) => schemeOf(credential).recall(credential, server),
    check: (credential, server) => schemeOf(credential).check(credential, server),
    holds: (owner, server) => (isTokenOwner(owner) ? bearer : scheme).holds(owner, server),
    rights: (owner, server) => (isTokenOwner(owner) ? bearer : scheme).rights?.(owner, server) ?? null,
  };
}

const TOKEN_PREFIX = 'svc_mcp_';
