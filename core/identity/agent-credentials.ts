import type { Platform } from '#core/platform/platform.ts';
import { and, eq, inArray, lt, or, sql } from 'drizzle-orm';
import { signal } from '#core/platform/signals.ts';
import type { AgentToken, OauthClient } from '#core/contract/identity/agent-access.ts';
import type { Db } from '#core/store/store.ts';
import type { Handlers } from '#core/context/context.ts';
import { createCredentials } from './credentials.ts';
import { newEnd, NOT_ROTATED, rotationEnd } from './ends/token-ends.ts';
import { digestOf, randomToken, shownPrefix } from '#core/lib/random-token.ts';

/** How long lists show credentials that have ended. */
const RETENTION_MS = 30 * 24 * 3_600_000;

const tokens = createCredentials({
  table: 'agent_tokens',
  entity_type: 'agent_token',
  label: 'agent token',
  show: ({ digest: _, ...row }): AgentToken => row,
});
const clients = createCredentials({
  table: 'agent_clients',
  entity_type: 'oauth_client',
  label: 'OAuth client',
  show: ({ secret_digest: _, previous_digest: _previous, warned_days: _warned, ...row }): OauthClient => row,
});

export const agentCredentialHandlers: Pick<
  Handlers,
  `${'agent_tokens' | 'oauth_clients'}.${'list' | 'create' | 'delete'}` | 'oauth_clients.rotate'
> = {
  'agent_tokens.list': tokens.list,
  'agent_tokens.create': async (context, { name, duration_minutes, scopes }) => {
    const { app } = context;
    const token = randomToken('svc_');
    const row = {
      ...unused(app, name, scopes),
      token_prefix: shownPrefix(token),
      digest: digestOf(token),
      expires_at: new Date(app.clock().getTime() + duration_minutes * 60_000).toISOString(),
    };
    const shown = await tokens.add(context, row);
    return { ...shown, token };
  },
  'agent_tokens.delete': async (context, { id }) => {
    await tokens.revoke(context, id);
    await signal(context.app, 'identity');
    return {};
  },
  'oauth_clients.list': clients.list,
  'oauth_clients.create': async (context, { name, idle_timeout_minutes, scopes, expires_in_days }) => {
    const { app } = context;
    const client_secret = randomToken('svc_cs_');
    const row = {
      ...unused(app, name, scopes),
      client_id: randomToken('svc_cl_'),
      secret_digest: digestOf(client_secret),
      idle_timeout_minutes,
      ...NOT_ROTATED,
      ...(await newEnd(app, expires_in_days)),
    };
    const shown = await clients.add(context, row);
    return { ...shown, client_secret };
  },
  'oauth_clients.rotate': async (context, { id, expires_in_days }) => {
    const { app } = context;
    const client_secret = randomToken('svc_cs_');
    const end = await newEnd(app, expires_in_days);
    const shown = await clients.rotate(context, id, async (row) => ({
      ...end,
      secret_digest: digestOf(client_secret),
      previous_digest: row.secret_digest,
      rotation_ends_at: rotationEnd(app, row),
    }));
    return { ...shown, client_secret };
  },
  'oauth_clients.delete': async (context, { id }) => {
    await clients.revoke(context, id, (tx) => deleteFamilies(context.app, tx, id));
    await signal(context.app, 'identity');
    return {};
  },
};

const unused = <Scope>(app: Platform, name: string, scopes: readonly Scope[]) => ({
  id: app.ids(),
  name,
  scopes: [...new Set(scopes)],
  revoked: false,
  last_used_at: null,
  last_ip: null,
  created_at: app.clock().toISOString(),
});

/** Deletes credentials that ended longer ago than `RETENTION_MS`. */
export async function forgetCredentials(app: Platform, tx: Db): Promise<void> {
  const { agent_tokens, agent_clients } = app.store.tables;
  const before = new Date(app.clock().getTime() - RETENTION_MS).toISOString();
  await tx.delete(agent_tokens).where(lt(agent_tokens.expires_at, before));
  const last_used = sql`coalesce(${agent_clients.last_used_at}, ${agent_clients.created_at})`;
  await tx
    .delete(agent_clients)
    .where(or(and(eq(agent_clients.revoked, true), lt(last_used, before)), lt(agent_clients.expires_at, before)));
}

/** Deletes all tokens of a client. */
async function deleteFamilies(app: Platform, tx: Db, client_row: string): Promise<void> {
  const { agent_families, agent_grants } = app.store.tables;
  const families = tx.select({ id: agent_families.id }).from(agent_families).where(eq(agent_families.client_row, client_row));
  await tx.delete(agent_grants).where(inArray(agent_grants.family_id, families));
  await tx.delete(agent_families).where(eq(agent_families.client_row, client_row));
}
