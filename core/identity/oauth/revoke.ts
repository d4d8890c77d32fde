import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { eq } from 'drizzle-orm';
import type { Login } from '#core/edge/token-form.ts';
import type { TokenAnswer } from '#core/identity/agent-grants.ts';
import { digestOf } from '#core/lib/random-token.ts';
import type { Context } from '#core/context/context.ts';
import { looksLikeAccessToken, verifiedClaims } from './bearer.ts';
import { removeGrant } from './grants.ts';
import { pushIdentity } from './published.ts';
import { authenticated } from './tokens.ts';

/** Revokes the grant of an access or refresh token (RFC 7009). @returns the refusal; null for every token, known or unknown. */
export async function revokeToken(
  { app }: Context<WithSources & WithHosts>,
  form: URLSearchParams,
  logins: readonly Login[],
): Promise<TokenAnswer | null> {
  const client_id = logins[0]?.client_id ?? form.get('client_id') ?? '';
  const { refused } = await authenticated(app, client_id, logins);
  if (refused !== null) return refused;
  const token = form.get('token') ?? '';
  const { oauth_refresh, oauth_grants } = app.store.tables;
  const grant_id = looksLikeAccessToken(token)
    ? ((await verifiedClaims(app, token))?.grant ?? null)
    : ((
        await app.store.db
          .select()
          .from(oauth_refresh)
          .where(eq(oauth_refresh.digest, digestOf(token)))
      )[0]?.grant_id ?? null);
  if (grant_id === null) return null;
  const [grant] = await app.store.db.select().from(oauth_grants).where(eq(oauth_grants.id, grant_id));
  if (grant?.client_id !== client_id) return null;
  if (await app.store.write((tx) => removeGrant(app, tx, grant.id))) await pushIdentity(app);
  return null;
}
