import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithProviders } from '#core/identity/providers/metadata.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import type { Platform } from '#core/platform/platform.ts';
import { readSettings } from '#core/settings/settings.ts';
import { isRead } from '#core/versions/claim-reads.ts';
import { EVERYTHING, LONGEST_ACCESS_TOKEN } from '#core/edge/identity.ts';
import type { TokenAnswer } from '#core/identity/agent-grants.ts';
import type { Issued } from './ended.ts';
import type { GrantRow } from './grants.ts';
import { signAccessToken } from './keys.ts';
import { namedFirst, type Person } from './people.ts';
import { resourceOf } from './resources.ts';
import { namedScopes, scopesFor } from './scopes.ts';

const MINUTE_S = 60;

/** What token requests need of the server. */
export type TokenServices = WithSources & WithHosts & WithSnapshots & WithProviders;

/** The person and the grant as of the issue time. If they end later, the token ends too. */
interface Issue extends Issued {
  readonly person: Person;
  /** Null for a grant that an assertion renews. */
  readonly refresh_token: string | null;
}

interface Wish {
  /** Scopes of only this token, a subset of the grant's (RFC 6749 section 6). */
  readonly requested: readonly string[] | null;
  /** Maximum lifetime, if it is shorter than that of other access tokens. */
  readonly most_minutes?: number;
}

/** The response with a new access token. */
export async function issue(
  app: Platform & WithHosts & WithSnapshots,
  grant: GrantRow,
  { person, refresh_token, issued_at, seq }: Issue,
  { requested, most_minutes = Infinity }: Wish,
): Promise<TokenAnswer> {
  const minutes = Math.min((await readSettings(app)).settings.oauth_access_minutes, most_minutes);
  const fewer = requested === null ? [] : await narrowed(app, grant, person, requested);
  // Names outside the grant are ignored, as at sign-in.
  const scope = (fewer.length > 0 ? fewer : grant.scopes).join(' ');
  const seconds = minutes * MINUTE_S;
  const is_agent = (await resourceOf(app, grant.resource))?.kind === 'agent';
  const claims = {
    aud: grant.resource,
    sub: person.id,
    client_id: grant.client_id,
    scope,
    grant: grant.id,
    seq,
    // The agent endpoint reads the person at each call and needs no groups. The request log gets names from the server.
    ...(is_agent || !(await isRead(app, 'name')) ? {} : { name: person.name ?? person.username }),
    ...(person.email === null || is_agent || !(await isRead(app, 'email')) ? {} : { email: person.email }),
  };
  const sign = (groups: readonly string[]) => signAccessToken(app, { ...claims, groups }, seconds, issued_at);
  const access_token = await withinLongest(app, is_agent ? [] : person.groups, sign);
  const body = { access_token, token_type: 'Bearer', expires_in: seconds, ...(refresh_token !== null && { refresh_token }) };
  // A client that requested some scopes and gets everything must be informed (RFC 6749 section 5.1).
  const shown_scope = scope === '' && requested !== null ? EVERYTHING : scope;
  return { status: 200, body: shown_scope === '' ? body : { ...body, scope: shown_scope } };
}

/**
 * The requested scopes that the grant includes. A grant of everything lists no names and includes every toolset of the person.
 */
async function narrowed(
  app: Platform & WithSnapshots,
  grant: GrantRow,
  person: Person,
  requested: readonly string[],
): Promise<string[]> {
  if (grant.scopes.length > 0) return grant.scopes.filter((name) => requested.includes(name));
  const resource = await resourceOf(app, grant.resource);
  const named = resource === null ? [] : namedScopes(requested, resource);
  if (resource === null || named.length === 0) return [];
  const offered = await scopesFor(app, resource, person);
  return offered.flatMap(({ name, optional }) => (optional && named.includes(name) ? [name] : []));
}

/** Signs a token that fits into a header. If there are too many groups, those without an effect are dropped first. */
async function withinLongest(
  app: Platform,
  groups: readonly string[],
  sign: (groups: readonly string[]) => Promise<string>,
): Promise<string> {
  let token = await sign(groups);
  if (token.length <= LONGEST_ACCESS_TOKEN) return token;
  let remaining = await namedFirst(app, groups);
  while (token.length > LONGEST_ACCESS_TOKEN && remaining.length > 0) {
    remaining = remaining.slice(0, Math.floor(remaining.length * 0.9));
    token = await sign(remaining);
  }
  app.log.warning('groups were left out of an access token, which would be too long', {
    groups: groups.length,
    remaining: remaining.length,
  });
  return token;
}
