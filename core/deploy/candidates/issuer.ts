import type { Platform } from '#core/platform/platform.ts';
import { eq } from 'drizzle-orm';
import type { StoredActor } from '#core/contract/fields.ts';
import type { Scope } from '#core/contract/operation.ts';
import { readSettings } from '#core/settings/settings.ts';
import { AppError } from '#core/errors.ts';
import { personOf } from '#core/identity/oauth/people.ts';
import { isPerson } from '#core/context/roles.ts';
import type { Actor } from '#core/context/context.ts';

/** Scopes that a token needs to create candidates: with the token of a candidate it can call reading tools, as with previews. */
const NEEDED: readonly Scope[] = ['write', 'deploy'];

/** Whether the token of a candidate can call reading tools only. The creator decides: only people may call writing tools. */
export const readsOnly = ({ type }: StoredActor): boolean => type !== 'admin' && type !== 'system';

/** Throws when a candidate would let a token do more than its scopes allow. */
export function refuseIssuer(actor: Actor | null): void {
  if (actor === null || isPerson(actor, 'viewer') || actor.scopes.includes('write')) return;
  throw new AppError(
    'insufficient_scope',
    'This token lacks the scope write. A candidate comes with a token that calls its tools, so creating one needs write and deploy.',
  );
}

/** When the credential of a creator of a candidate expires; null when it has no fixed time. */
export async function issuerExpiry(app: Platform, actor: Actor | null): Promise<string | null> {
  if (actor?.type !== 'agent_token' || actor.id === null) return null;
  return (await agentToken(app, actor.id))?.expires_at ?? null;
}

/** Whether the creator of a candidate could still create it. If not, the candidate ends. */
export async function issuerHolds(app: Platform, { type, id }: StoredActor): Promise<boolean> {
  if (type === 'system' || id === null) return true;
  if (type === 'admin') return suffices((await personOf(app, id))?.scopes);
  if (!(await readSettings(app)).settings.agent_enabled) return false;
  if (type === 'oauth_client') return suffices((await clientScopes(app, id)) ?? (await grantScopes(app, id)));
  const token = await agentToken(app, id);
  return token !== undefined && !token.revoked && Date.parse(token.expires_at) > app.clock().getTime() && suffices(token.scopes);
}

const suffices = (scopes: readonly Scope[] | undefined): boolean =>
  scopes !== undefined && NEEDED.every((scope) => scopes.includes(scope));

async function agentToken({ store }: Platform, id: string) {
  const { agent_tokens } = store.tables;
  const [row] = await store.db.select().from(agent_tokens).where(eq(agent_tokens.id, id));
  return row;
}

async function clientScopes({ store }: Platform, id: string): Promise<readonly Scope[] | undefined> {
  const { agent_clients } = store.tables;
  const [row] = await store.db.select().from(agent_clients).where(eq(agent_clients.id, id));
  return row?.revoked === false ? row.scopes : undefined;
}

/** Scopes of a person who signed in at the agent endpoint. */
async function grantScopes(app: Platform, id: string): Promise<readonly Scope[] | undefined> {
  const { oauth_grants } = app.store.tables;
  const [row] = await app.store.db.select().from(oauth_grants).where(eq(oauth_grants.id, id));
  const person = row === undefined ? null : await personOf(app, row.person_id);
  return person?.scopes.filter((scope) => row?.scopes.includes(scope));
}
