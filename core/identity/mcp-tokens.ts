import { createHash, randomInt } from 'node:crypto';
import { and, desc, eq, isNotNull, sql } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { McpToken } from '#core/contract/identity/mcp-tokens.ts';
import type { Db } from '#core/store/open.ts';
import type { Schema } from '#core/store/schema.ts';
import { AppError } from '#core/errors.ts';
import type { HostEvent } from '#core/deploy/hosts.ts';
import type { Handlers } from '#core/run.ts';
import { recordHistory } from '#core/observe/history.ts';
import { repeat } from '#core/observe/chores.ts';
import { signal } from '#core/cluster/signals.ts';

type TokenRow = Schema['mcp_tokens']['$inferSelect'];

const PREFIX = 'svc_mcp_';
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const RANDOM = 40;
/** Of the random part, what a person may see to tell tokens apart. */
const SHOWN = 4;
const BCRYPT_COST = 10;
const REVISION = 'mcp_tokens_revision';

export const mcpTokenHandlers: Pick<Handlers, Extract<keyof Handlers, `mcp_tokens.${string}`>> = {
  'mcp_tokens.list': async ({ app }, { skip, limit }) => {
    const { mcp_tokens } = app.store.tables;
    const [rows, totals] = await Promise.all([
      // Ids grow with time.
      app.store.db.select().from(mcp_tokens).orderBy(desc(mcp_tokens.id)).limit(limit).offset(skip),
      app.store.db.select({ total: sql<number | string>`count(*)` }).from(mcp_tokens),
    ]);
    return { items: rows.map(toToken), total: Number(totals[0]?.total ?? 0) };
  },
  'mcp_tokens.create': async (context, { name, idle_timeout_minutes }) => {
    const { app } = context;
    const id = app.ids();
    const token = PREFIX + Array.from({ length: RANDOM }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
    const hash = await Bun.password.hash(token, { algorithm: 'bcrypt', cost: BCRYPT_COST });
    const row: TokenRow = {
      id,
      name,
      token_prefix: token.slice(0, PREFIX.length + SHOWN),
      digest: createHash('sha256').update(token).digest('hex'),
      secret_hash: { $sealed: app.keyring.seal(hash, `mcp_token/${id}/secret_hash`) },
      idle_timeout_minutes,
      last_used_at: null,
      revoked: false,
      revoked_at: null,
      created_at: app.clock().toISOString(),
    };
    await app.store.write(async (tx) => {
      await tx.insert(app.store.tables.mcp_tokens).values(row);
      await touch(app, tx);
      await recordHistory(tx, context, {
        entity_type: 'mcp_token',
        entity_id: id,
        entity_name: name,
        action: 'create',
        before: null,
        after: { ...toToken(row) },
      });
    });
    await tellTokens(app);
    return { ...toToken(row), token };
  },
  'mcp_tokens.delete': async (context, { id }) => {
    const { app } = context;
    const { mcp_tokens } = app.store.tables;
    await app.store.write(async (tx) => {
      const [row] = await tx.select().from(mcp_tokens).where(eq(mcp_tokens.id, id));
      if (row === undefined) throw new AppError('not_found', 'There is no access token with this id.');
      if (row.revoked) return;
      await tx.update(mcp_tokens).set({ revoked: true, revoked_at: app.clock().toISOString() }).where(eq(mcp_tokens.id, id));
      await touch(app, tx);
      await recordHistory(tx, context, {
        entity_type: 'mcp_token',
        entity_id: id,
        entity_name: row.name,
        action: 'delete',
        before: { ...toToken(row) },
        after: null,
      });
    });
    await tellTokens(app);
    return {};
  },
};

const toToken = ({ id, name, token_prefix, idle_timeout_minutes, last_used_at, revoked, created_at }: TokenRow): McpToken => ({
  id,
  name,
  token_prefix,
  idle_timeout_minutes,
  last_used_at,
  revoked,
  created_at,
});

/** The list that hosts check bearers against (contract section 8): digests and sealed hashes. */
export async function tokensEvent(app: App): Promise<HostEvent> {
  const { mcp_tokens } = app.store.tables;
  const rows = await app.store.db.select().from(mcp_tokens).orderBy(mcp_tokens.id);
  return {
    event: 'tokens',
    data: { tokens: rows.map((row) => ({ ...toToken(row), digest: row.digest, secret_hash: row.secret_hash })) },
  };
}

/** Every connected host hears the list as it is now. One after the other, so that an older list never comes last. */
export const publishTokens = (app: App): Promise<void> => app.token_lock(async () => app.hosts.publish(await tokensEvent(app)));

/** The hosts of every server. */
async function tellTokens(app: App): Promise<void> {
  await Promise.all([publishTokens(app), signal(app, 'tokens')]);
}

/** Other servers see that the list has changed. */
async function touch(app: App, tx: Db): Promise<void> {
  const { meta } = app.store.tables;
  const value = app.ids();
  await tx.insert(meta).values({ key: REVISION, value }).onConflictDoUpdate({ target: meta.key, set: { value } });
}

async function revision(app: App): Promise<string | null> {
  const { meta } = app.store.tables;
  const rows = await app.store.db.select().from(meta).where(eq(meta.key, REVISION));
  return rows[0]?.value ?? null;
}

const FOLLOW_MS = 500;

/** Hands the changes that other servers make to the hosts of this one. @returns a function that ends it. */
export function followTokens(app: App): () => void {
  // An embedded database has one server.
  if (app.store.dialect === 'sqlite') return () => undefined;
  let known: string | null = null;
  const look = async () => {
    const current = await revision(app);
    if (current === known) return;
    await publishTokens(app);
    known = current;
  };
  return repeat(app, FOLLOW_MS, 'reading the access tokens', look, false, 'tokens');
}

/** Well within the shortest idle time, a minute. */
const TELL_MS = 15_000;

/** Idle time counts over all hosts: each hears of the uses that others reported. @returns a function that ends it. */
export function tellTokenUses(app: App, every_ms = TELL_MS): () => void {
  let told = '[]';
  return repeat(app, every_ms, 'sending the use of access tokens', async () => {
    const { mcp_tokens } = app.store.tables;
    const { id, last_used_at } = mcp_tokens;
    const uses = await app.store.db
      .select({ id, last_used_at })
      .from(mcp_tokens)
      .where(and(isNotNull(mcp_tokens.idle_timeout_minutes), isNotNull(last_used_at), eq(mcp_tokens.revoked, false)))
      .orderBy(id);
    const now = JSON.stringify(uses);
    if (now === told) return;
    await publishTokens(app);
    told = now;
  });
}
