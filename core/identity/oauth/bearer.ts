import type { Platform } from '#core/platform/platform.ts';
import { eq } from 'drizzle-orm';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { ACCESS_TOKEN_ALGORITHM, LONGEST_ACCESS_TOKEN } from '#core/edge/identity.ts';
import type { Actor } from '#core/context/context.ts';
import { issuerOf } from '#core/settings/public-urls.ts';
import { personOf } from './people.ts';
import { publicKeys } from './published.ts';
import { resourceOf } from './resources.ts';

/** Whether a text has the form of an access token of a signed-in person, unlike an agent token. */
export const looksLikeAccessToken = (token: string): boolean =>
  token.length <= LONGEST_ACCESS_TOKEN && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token);

interface Claims {
  readonly aud: string;
  readonly grant: string;
  readonly scope: string;
}

/**
 * The claims of a token that this server signed and that has not expired, even if its grant has ended. Null for any other token.
 */
export async function verifiedClaims(app: Platform, token: string): Promise<Claims | null> {
  try {
    const { payload } = await jwtVerify(token, createLocalJWKSet({ keys: await publicKeys(app) }), {
      algorithms: [ACCESS_TOKEN_ALGORITHM],
      typ: 'at+jwt',
      issuer: await issuerOf(app),
      requiredClaims: ['exp', 'aud', 'sub'],
      currentDate: app.clock(),
    });
    const { aud, grant, scope = '' } = payload;
    return typeof aud === 'string' && typeof grant === 'string' && typeof scope === 'string' ? { aud, grant, scope } : null;
  } catch {
    return null;
  }
}

/**
 * The person behind an access token for the agent endpoint, with the scopes of the grant that the person's current role allows.
 * The grant is read at each use, so that revoking it takes effect at once.
 */
export async function agentPerson(app: Platform, token: string): Promise<{ actor: Actor; token_prefix: string } | null> {
  const claims = await verifiedClaims(app, token);
  if (claims === null || (await resourceOf(app, claims.aud))?.kind !== 'agent') return null;
  const { oauth_grants } = app.store.tables;
  const [grant] = await app.store.db.select().from(oauth_grants).where(eq(oauth_grants.id, claims.grant));
  const person = grant === undefined ? null : await personOf(app, grant.person_id);
  if (grant === undefined || person === null) return null;
  const granted = claims.scope.split(' ');
  const scopes = person.scopes.filter((scope) => grant.scopes.includes(scope) && granted.includes(scope));
  const name = `${person.username} (${grant.client.name})`;
  const { role } = person;
  return { actor: { type: 'oauth_client', id: grant.id, name, scopes, role }, token_prefix: grant.client.name.slice(0, 16) };
}
