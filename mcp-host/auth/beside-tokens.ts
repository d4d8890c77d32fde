import { type Bearer, isTokenOwner } from './bearer.ts';
import type { Admission } from './caller.ts';
import type { Credential, Scheme } from './scheme.ts';

/** `accept_mcp_tokens`: access tokens made here count beside those that another scheme accepts. */
export function besideTokens(bearer: Bearer, scheme: Scheme): Scheme {
  const schemeOf = ({ token }: Credential): Scheme => (token.startsWith(TOKEN_PREFIX) ? bearer : scheme);
  const ownSchemeOf = ({ owner }: Admission): Scheme => (isTokenOwner(owner) ? bearer : scheme);
  return {
    ...scheme,
    recall: (credential, server) => schemeOf(credential).recall(credential, server),
    check: (credential, server) => schemeOf(credential).check(credential, server),
    holds: (admitted, server) => ownSchemeOf(admitted).holds(admitted, server),
    rights: (admitted, server) => ownSchemeOf(admitted).rights?.(admitted, server) ?? null,
  };
}

const TOKEN_PREFIX = 'svc_mcp_';
