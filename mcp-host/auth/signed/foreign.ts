import type { JwtIssuer } from '#core/contract/settings/jwt-issuers.ts';
import { foreignCaller, foreignRules } from '#core/edge/foreign-tokens.ts';
import { wrongClaim } from '#core/edge/token-checks.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { sha256 } from '#mcp-host/runtime/runtime.ts';
import { callerName } from '#core/lib/text/caller-name.ts';
import { createCaller } from '../caller.ts';
import type { ForeignKeys } from './foreign-keys.ts';
import { rightsOfScopes } from '../rights.ts';
import type { TokenSource } from './signed-scheme.ts';

const issuerNamed = ({ jwt_issuers = [] }: FrozenServer, name: unknown): JwtIssuer | undefined =>
  jwt_issuers.find(({ issuer }) => issuer === name);

/** `auth_type` jwt: tokens of other issuers, verified with their public keys. */
export const createForeign = (keys: ForeignKeys): TokenSource => ({
  rulesOf(name, server) {
    const issuer = issuerNamed(server, name);
    return issuer === undefined ? null : foreignRules(issuer, (header) => keys.keyOf(issuer, header));
  },
  counts({ payload, header }, server) {
    const issuer = issuerNamed(server, payload.iss);
    if (issuer === undefined || !keys.has(issuer, header.kid)) return false;
    const rules = foreignRules(issuer, () => null);
    if (!rules.algorithms.includes(header.alg) || wrongClaim(payload, rules) !== undefined) return false;
    return [payload.aud ?? []].flat().some((audience) => rules.isAudience(audience));
  },
  edition: () => keys.edition(),
  toCaller({ payload }, server, toolsets) {
    const issuer = issuerNamed(server, payload.iss);
    if (issuer === undefined) throw new Error('A token of an unknown issuer was verified.');
    const { claims, identity, scopes } = foreignCaller(payload, issuer);
    const owner = `jwt:${sha256(JSON.stringify([payload.iss, payload.sub, identity.client_id]))}`;
    return createCaller(owner, callerName(identity.name ?? identity.sub), rightsOfScopes(toolsets, scopes), claims, identity);
  },
});
