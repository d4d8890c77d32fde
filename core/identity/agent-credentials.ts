import { and, desc, eq, inArray, lt, sql } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { AgentToken, OauthClient } from '#core/contract/identity/agent-access.ts';
import type { Db } from '#core/store/open.ts';
import type { Schema } from '#core/store/schema.ts';
import { AppError } from '#core/errors.ts';
import type { Handlers } from '#core/run.ts';
import { digestOf, randomToken, shownPrefix } from './agent-random.ts';
import { recordHistory } from '#core/observe/history.ts';

type TokenRow = Schema['agent_tokens']['$inferSelect'];
type ClientRow = Schema['agent_clients']['$inferSelect'];
type Table = 'agent_tokens' | 'agent_clients';

/** Ended credentials stay in the lists for so long. */
const KEPT_MS = 30 * 24 * 3_600_000;

export const agentCredentialHandlers: Pick<Handlers, `${'agent_tokens' | 'oauth_clients'}.${'list' | 'create' | 'delete'}`> = {
  'agent_tokens.list': async ({ app }, page) => {
    const { items, total } = await newestFirst(app, 'agent_tokens', page);
    return { items: (items as TokenRow[]).map(toToken), total };
  },
  'agent_tokens.create': async (context, { name, duration_minutes, scopes }) => {
    const { app } = context;
    const now = app.clock();
    const token = randomToken('svc_');
    const row: TokenRow = {
      id: app.ids(),
      name,
      token_prefix: shownPrefix(token),
      digest: digestOf(token),
      scopes: [...new Set(scopes)],
      expires_at: new Date(now.getTime() + duration_minutes * 60_000).toISOString(),
      revoked: false,
      last_used_at: null,
      last_ip: null,
      created_at: now.toISOString(),
    };
    await app.store.write(async (tx) => {
      const { agent_tokens } = app.store.tables;
      await tx.delete(agent_tokens).where(lt(agent_tokens.expires_at, new Date(now.getTime() - KEPT_MS).toISOString()));
      await tx.insert(agent_tokens).values(row);
      await recordHistory(tx, context, {
        entity_type: 'agent_token',
        entity_id: row.id,
        entity_name: name,
        action: 'create',
        before: null,
        after: { ...toToken(row) },
      });
    });
    return { ...toToken(row), token };
  },
  'agent_tokens.delete': async (context, { id }) => {
    const { app } = context;
    const { agent_tokens } = app.store.tables;
    await app.store.write(async (tx) => {
      const [row] = await tx.select().from(agent_tokens).where(eq(agent_tokens.id, id));
      if (row === undefined) throw new AppError('not_found', 'There is no agent token with this id.');
      if (row.revoked) return;
      await tx.update(agent_tokens).set({ revoked: true }).where(eq(agent_tokens.id, id));
      await recordHistory(tx, context, {
        entity_type: 'agent_token',
        entity_id: id,
        entity_name: row.name,
        action: 'delete',
        before: { ...toToken(row) },
        after: null,
      });
    });
    return {};
  },
  'oauth_clients.list': async ({ app }, page) => {
    const { items, total } = await newestFirst(app, 'agent_clients', page);
    return { items: (items as ClientRow[]).map(toClient), total };
  },
  'oauth_clients.create': async (context, { name, idle_timeout_minutes, scopes }) => {
    const { app } = context;
    const client_secret = randomToken('svc_cs_');
    const row: ClientRow = {
      id: app.ids(),
      name,
      client_id: randomToken('svc_cl_'),
      secret_digest: digestOf(client_secret),
      scopes: [...new Set(scopes)],
      idle_timeout_minutes,
      revoked: false,
      last_used_at: null,
      last_ip: null,
      created_at: app.clock().toISOString(),
    };
    await app.store.write(async (tx) => {
      await forgetClients(app, tx);
      await tx.insert(app.store.tables.agent_clients).values(row);
      await recordHistory(tx, context, {
        entity_type: 'oauth_client',
        entity_id: row.id,
        entity_name: name,
        action: 'create',
        before: null,
        after: { ...toClient(row) },
      });
    });
    return { ...toClient(row), client_secret };
  },
  'oauth_clients.delete': async (context, { id }) => {
    const { app } = context;
    const { agent_clients } = app.store.tables;
    await app.store.write(async (tx) => {
      const [row] = await tx.select().from(agent_clients).where(eq(agent_clients.id, id));
      if (row === undefined) throw new AppError('not_found', 'There is no OAuth client with this id.');
      if (row.revoked) return;
      await tx.update(agent_clients).set({ revoked: true }).where(eq(agent_clients.id, id));
      await deleteFamilies(app, tx, id);
      await recordHistory(tx, context, {
        entity_type: 'oauth_client',
        entity_id: id,
        entity_name: row.name,
        action: 'delete',
        before: { ...toClient(row) },
        after: null,
      });
    });
    return {};
  },
};

async function newestFirst(app: App, name: Table, { skip, limit }: { skip: number; limit: number }) {
  const table = app.store.tables[name] as Schema['agent_tokens'];
  const [items, totals] = await Promise.all([
    // Ids grow with time.
    app.store.db.select().from(table).orderBy(desc(table.id)).limit(limit).offset(skip) as Promise<(TokenRow | ClientRow)[]>,
    app.store.db.select({ total: sql<number | string>`count(*)` }).from(table),
  ]);
  return { items, total: Number(totals[0]?.total ?? 0) };
}

const toToken = ({ digest: _, ...row }: TokenRow): AgentToken => row;
const toClient = ({ secret_digest: _, ...row }: ClientRow): OauthClient => row;

/** Ends every token that a client got. */
async function deleteFamilies(app: App, tx: Db, client_row: string): Promise<void> {
  const { agent_families, agent_grants } = app.store.tables;
  const families = tx.select({ id: agent_families.id }).from(agent_families).where(eq(agent_families.client_row, client_row));
  await tx.delete(agent_grants).where(inArray(agent_grants.family_id, families));
  await tx.delete(agent_families).where(eq(agent_families.client_row, client_row));
}

async function forgetClients(app: App, tx: Db): Promise<void> {
  const { agent_clients } = app.store.tables;
  const before = new Date(app.clock().getTime() - KEPT_MS).toISOString();
  await tx
    .delete(agent_clients)
    .where(
      and(eq(agent_clients.revoked, true), sql`coalesce(${agent_clients.last_used_at}, ${agent_clients.created_at}) < ${before}`),
    );
}
