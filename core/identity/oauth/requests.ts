import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import type { Platform } from '#core/platform/platform.ts';
import { and, eq, gt } from 'drizzle-orm';
import { afterCommit } from '#core/platform/after-commit.ts';
import type { OauthScope } from '#core/contract/identity/oauth.ts';
import { digestOf, randomToken } from '#core/lib/random-token.ts';
import { AppError } from '#core/errors.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import type { Schema } from '#core/store/schema.ts';
import { noteAttempt } from './attempts.ts';
import { codeAddress, errorAddress } from './authorize.ts';
import { issuerOf } from '#core/settings/public-urls.ts';
import { type Person, personOf } from './people.ts';
import { hostOfTarget, redirectKindOf } from './clients/redirects.ts';
import { type Resource, resourceOf } from './resources.ts';
import { namedScopes, scopesFor } from './scopes.ts';

type RequestRow = Schema['oauth_requests']['$inferSelect'];

/** RFC 6749 section 4.1.2 recommends at most ten minutes, but clients exchange a code at once. */
const CODE_MS = 60_000;

/** The scopes that a signed-in person can grant for a request. */
interface Offer {
  readonly person: Person | null;
  /**
   * The requested scopes that the person may use. All of the person's scopes when none is requested or none of the requested ones
   * is allowed.
   */
  readonly scopes: readonly OauthScope[];
  /** Whether a requested scope is missing. */
  readonly narrowed: boolean;
  /** The client requested scopes by name. The grant lists their names and does not include toolsets that are added later. */
  readonly by_name: boolean;
  readonly refused: string | null;
}

export const oauthRequestHandlers: Pick<Handlers<WithSources & WithSnapshots>, 'oauth_requests.get' | 'oauth_requests.decide'> = {
  'oauth_requests.get': async (context, { id }) => {
    const row = await waiting(context, id);
    const resource = await requiredResource(context.app, row);
    const { person, scopes, narrowed, refused } = await offerOf(context, row, resource);
    return {
      client: { ...row.client, trusted: skipsConsent(row, resource) },
      resource: row.resource,
      agent: resource.kind === 'agent',
      redirect_host: hostOfTarget(row.redirect_uri),
      redirect_scheme: new URL(row.redirect_uri).protocol,
      person: person === null ? null : { username: person.username },
      scopes: [...scopes],
      narrowed,
      refused,
      expires_at: row.expires_at,
    };
  },
  'oauth_requests.decide': async (context, { id, decision, scopes: chosen }) => {
    const { app, ip } = context;
    const row = await waiting(context, id);
    const resource = await requiredResource(app, row);
    const { person, scopes, by_name, refused } = await offerOf(context, row, resource);
    if (decision === 'approve' && person === null) {
      throw new AppError('unauthenticated', 'Sign in first. This request has no valid session.');
    }
    if (decision === 'approve' && refused !== null) throw new AppError('forbidden', refused);
    const granted = grantedScopes(scopes, chosen, by_name);
    if (decision === 'approve' && granted === null) {
      const message = 'scopes must hold at least one of the scopes that are offered, and no other.';
      throw new AppError('invalid', message, { errors: [{ field: 'scopes', message }] });
    }
    const code = randomToken('svc_code_');
    const issuer = await issuerOf(app);
    const { oauth_requests, oauth_codes } = app.store.tables;
    await app.store.write(async (tx) => {
      const taken = await tx.delete(oauth_requests).where(eq(oauth_requests.id, row.id)).returning({ id: oauth_requests.id });
      if (taken.length === 0) throw over();
      if (decision === 'deny' || person === null) return;
      await tx.insert(oauth_codes).values({
        digest: digestOf(code),
        client: row.client,
        redirect_uri: row.redirect_uri,
        code_challenge: row.code_challenge,
        resource: row.resource,
        scopes: granted ?? [],
        person_id: person.id,
        grant_id: app.ids(),
        spent: false,
        expires_at: new Date(app.clock().getTime() + CODE_MS).toISOString(),
      });
    });
    const { name: client, client_id } = row.client;
    const reason = decision === 'deny' ? 'The person denied the request.' : null;
    await afterCommit(app, 'noting a sign-in', () =>
      noteAttempt(app, { client, client_id, step: 'consent', reason, person: person?.username ?? null, ip }),
    );
    const answer = { state: row.state, issuer };
    const denied = { error: 'access_denied', reason: 'The person denied the request.' };
    return {
      redirect_to:
        decision === 'deny'
          ? errorAddress(row.redirect_uri, { ...answer, ...denied })
          : codeAddress(row.redirect_uri, { ...answer, code }),
    };
  },
};

const over = () =>
  new AppError(
    'not_found',
    'This sign-in request has expired, was decided already, or began in another browser. Start again in your client.',
  );

/** The request, only for the browser that started it (CVE-2026-27124), because anybody can send its address to another person. */
async function waiting({ app, browser }: Context, id: string): Promise<RequestRow> {
  const { oauth_requests: table } = app.store.tables;
  const [row] = await app.store.db
    .select()
    .from(table)
    .where(
      and(
        eq(table.id, digestOf(id)),
        eq(table.browser, digestOf(browser ?? '')),
        gt(table.expires_at, app.clock().toISOString()),
      ),
    );
  if (row === undefined) throw over();
  return row;
}

/**
 * Any page can redirect a browser here, and any program on the computer can receive a redirect to a loopback address or a private
 * scheme (RFC 8252, section 8.6). For these, and for the agent endpoint, which changes this server, the consent page always
 * opens.
 */
const skipsConsent = ({ client, redirect_uri }: RequestRow, { kind }: Resource): boolean =>
  client.trusted && kind !== 'agent' && redirectKindOf(redirect_uri) === 'https';

async function requiredResource(app: Platform, { resource }: RequestRow): Promise<Resource> {
  const found = await resourceOf(app, resource);
  if (found === null) throw over();
  return found;
}

async function offerOf(
  { app, actor }: Context<WithSources & WithSnapshots>,
  row: RequestRow,
  resource: Resource,
): Promise<Offer> {
  const person = actor?.session_id === undefined ? null : await personOf(app, actor.id ?? '');
  const offered = await scopesFor(app, resource, person);
  const named = namedScopes(row.scopes, resource);
  const requested = offered.filter(({ name }) => named.includes(name));
  const scopes = requested.length > 0 ? requested : offered;
  // Before sign-in the allowed scopes are unknown. A grant of everything is never narrower than the request.
  const narrowed = person !== null && requested.length < named.length && offered.every(({ optional }) => optional);
  const refused =
    person !== null && scopes.length === 0
      ? resource.kind === 'agent'
        ? 'Your role does not allow you to administer this server.'
        : 'Nothing that is deployed here is open to you. Ask an administrator for access.'
      : null;
  return { person, scopes, narrowed, by_name: resource.kind === 'agent' || named.length > 0, refused };
}

/**
 * If the client named no scope and the person deselected none, the grant includes everything that the person may use, also
 * toolsets that are added later, because most clients cannot request more afterwards. @returns null when the choice is invalid.
 */
function grantedScopes(offered: readonly OauthScope[], chosen: readonly string[] | undefined, by_name: boolean): string[] | null {
  const names = offered.map(({ name }) => name);
  const selected = chosen ?? names;
  if (selected.length === 0 || selected.some((name) => !names.includes(name))) return null;
  if (!by_name && names.every((name) => selected.includes(name))) return [];
  return offered.filter(({ name, optional }) => optional && selected.includes(name)).map(({ name }) => name);
}
