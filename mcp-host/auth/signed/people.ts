import type { Addresses } from '#core/edge/requested-address.ts';
import { ACCESS_TOKEN_ALGORITHM } from '#core/edge/identity.ts';
import { textsOf } from '#core/edge/token-checks.ts';
import { type Claims, toIdentity } from '#core/query/identity.ts';
import { audiencePath } from '#core/edge/mcp-endpoint.ts';
import { sha256 } from '#mcp-host/runtime/runtime.ts';
import { callerName } from '#core/lib/text/caller-name.ts';
import { createCaller, PERSON_OWNER } from '../caller.ts';
import { rightsOfPerson } from '../rights.ts';
import type { IdentityState } from './identity-state.ts';
import type { TokenSource } from './signed-scheme.ts';

/** `auth_type` oauth: people who signed in at the installation's server. */
export function createPeople(identity: IdentityState, addresses: Addresses): TokenSource {
  return {
    rulesOf(issuer, _, path) {
      if (issuer !== identity.issuer()) return null;
      return {
        issuer,
        algorithms: [ACCESS_TOKEN_ALGORITHM],
        types: ['at+jwt'],
        keyOf: (header) => identity.keyOf(header),
        // A token is valid for one resource only.
        isAudience: (audience) => audiencePath(addresses.restOf(audience)) === path,
      };
    },
    counts({ payload, header }) {
      const { iss, iat, sub } = payload;
      const grant = payload['grant'];
      const client_id = payload['client_id'];
      const seq = payload['seq'];
      if (typeof grant !== 'string' || typeof client_id !== 'string' || typeof seq !== 'number' || iat === undefined)
        return false;
      return identity.counts({
        grant,
        client_id,
        iat,
        seq,
        sub: sub ?? '',
        iss: iss ?? '',
        kid: header.kid ?? '',
      });
    },
    edition: () => identity.edition(),
    toCaller({ payload }, _, toolsets) {
      // The claims were parsed from JSON.
      const claims = payload as Claims;
      const who = toIdentity(claims);
      const owner = `${PERSON_OWNER}${sha256(JSON.stringify([payload.iss, payload.sub, who.client_id]))}`;
      const rights = rightsOfPerson(toolsets, who.groups, textsOf(payload['scope']));
      const grant = String(payload['grant']);
      return { ...createCaller(owner, callerName(who.name ?? who.sub), rights, claims, who), grant };
    },
  };
}
