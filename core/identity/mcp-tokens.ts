import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { Platform } from '#core/platform/platform.ts';
import { and, eq, isNotNull } from 'drizzle-orm';
import { afterCommit } from '#core/platform/after-commit.ts';
import { checkVersion } from '#core/records/versioned.ts';
import { AppError, invalidField } from '#core/errors.ts';
import { recordHistory } from '#core/records/history.ts';
import { lockEntityWrites } from '#core/store/journal.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import type { McpToken } from '#core/contract/identity/mcp-tokens.ts';
import { refuseUnknownToolsets } from '#core/context/toolset-names.ts';
import type { Claims } from '#core/query/identity.ts';
import type { Db } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';
import type { HostEvent, LiveToken } from '#core/contract/deploy/control.ts';
import { raiseRevision, readRevision } from '#core/hosts/confirmed-lists.ts';
import { listName, CONFIRM_TIMEOUT_MS } from '#core/hosts/confirmed-lists.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import { type Outcome, runEvery } from '#core/platform/run-every.ts';
import { signal } from '#core/platform/signals.ts';
import { createCredentials } from './credentials.ts';
import { newEnd, NOT_ROTATED, rotationEnd } from './ends/token-ends.ts';
import { digestOf, randomToken, shownPrefix } from '#core/lib/random-token.ts';

type TokenRow = Schema['mcp_tokens']['$inferSelect'];

const BCRYPT_COST = 10;

const toToken = ({ digest: _, secret_hash: _hash, revoked_at: _at, claims, ...row }: TokenRow): McpToken => {
  const { previous_digest: _previous, previous_hash: _earlier, warned_days: _warned, ...shown } = row;
  return { ...shown, claims: { ...claims } };
};
const toLiveToken = (row: TokenRow): LiveToken => {
  const { version: _, rotation_ends_at: ends_at, ...token } = toToken(row);
  const { digest, secret_hash, previous_digest, previous_hash } = row;
  const is_rotated = ends_at !== null && previous_digest !== null && previous_hash !== null;
  const previous = is_rotated ? { digest: previous_digest, secret_hash: previous_hash, ends_at } : null;
  return { ...token, digest, secret_hash, previous };
};
const tokens = createCredentials({ table: 'mcp_tokens', entity_type: 'mcp_token', label: 'access token', show: toToken });

export const mcpTokenHandlers: Pick<
  Handlers<WithSources & WithHosts>,
  Extract<keyof Handlers<WithSources & WithHosts>, `mcp_tokens.${string}`>
> = {
  'mcp_tokens.list': tokens.list,
  'mcp_tokens.create': async (context, { name, idle_timeout_minutes, toolsets, all_toolsets, claims, expires_in_days }) => {
    const { app } = context;
    checkEverything(toolsets, all_toolsets);
    await refuseUnknownToolsets(context, toolsets, null);
    const id = app.ids();
    const { token, ...secret } = await newSecret(app, id);
    const row: TokenRow = {
      id,
      name,
      ...secret,
      ...NOT_ROTATED,
      previous_hash: null,
      ...(await newEnd(app, expires_in_days)),
      idle_timeout_minutes,
      toolsets,
      claims: claims as Claims,
      last_used_at: null,
      revoked: false,
      revoked_at: null,
      version: 1,
      created_at: app.clock().toISOString(),
    };
    const shown = await tokens.add(context, row, async (tx) => void (await raiseRevision(app, tx, 'tokens')));
    await pushTokens(app);
    return { ...shown, token };
  },
  'mcp_tokens.update': async (context, { id, version, all_toolsets = false, ...sent }) => {
    const { app } = context;
    if (sent.toolsets !== undefined && sent.toolsets !== null) checkEverything(sent.toolsets, all_toolsets);
    const fields = { ...sent, toolsets: all_toolsets ? null : sent.toolsets };
    const change = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<TokenRow>;
    const shown = await app.store.write((tx) => changeToken(context, tx, id, version, change, all_toolsets));
    await pushTokens(app);
    return shown;
  },
  'mcp_tokens.rotate': async (context, { id, version, expires_in_days }) => {
    const { app } = context;
    const { token, ...secret } = await newSecret(app, id);
    const end = await newEnd(app, expires_in_days);
    const changed = async (row: TokenRow): Promise<Partial<TokenRow>> => {
      checkVersion('mcp_token', row, version, 'access token');
      const rotation_ends_at = rotationEnd(app, row);
      const hash = app.keyring.open(row.secret_hash.$sealed, `mcp_token/${id}/secret_hash`);
      const previous_hash = { $sealed: app.keyring.seal(hash, `mcp_token/${id}/previous_hash`) };
      const previous = rotation_ends_at === null ? null : { previous_digest: row.digest, previous_hash, rotation_ends_at };
      return { ...secret, ...end, ...(previous ?? { ...NOT_ROTATED, previous_hash: null }), version: row.version + 1 };
    };
    const shown = await tokens.rotate(context, id, changed, async (tx) => void (await raiseRevision(app, tx, 'tokens')));
    await pushTokens(app);
    return { ...shown, token };
  },
  'mcp_tokens.delete': async (context, { id }) => {
    const { app } = context;
    await tokens.revoke(context, id, async (tx) => void (await raiseRevision(app, tx, 'tokens')), {
      revoked_at: app.clock().toISOString(),
    });
    await pushTokens(app);
    return {};
  },
};

/** A new token with what is stored of it. */
async function newSecret(app: Platform, id: string) {
  const token = randomToken('svc_mcp_');
  const hash = await Bun.password.hash(token, { algorithm: 'bcrypt', cost: BCRYPT_COST });
  const secret_hash = { $sealed: app.keyring.seal(hash, `mcp_token/${id}/secret_hash`) };
  return { token, token_prefix: shownPrefix(token), digest: digestOf(token), secret_hash };
}

/** A token for everything, with what is created later, is requested by name, and not what a request without a list gets. */
function checkEverything(toolsets: readonly string[] | null, all_toolsets: boolean): void {
  if (toolsets === null && !all_toolsets) {
    throw invalidField(
      'toolsets',
      'toolsets must name the toolsets of the token. For everything, also what is created later, send all_toolsets: true.',
    );
  }
  if (toolsets !== null && all_toolsets) {
    throw invalidField('all_toolsets', 'all_toolsets cannot be true for a token with a list of toolsets. Send one of the two.');
  }
}

/** @param expected the version that the change is based on; undefined skips the check. Revoked tokens cannot change. */
async function changeToken(
  context: Context,
  tx: Db,
  id: string,
  expected: number | undefined,
  change: Partial<TokenRow>,
  all_toolsets: boolean,
): Promise<McpToken> {
  const { app } = context;
  const { mcp_tokens: table } = app.store.tables;
  await lockEntityWrites(app.store, tx);
  const [row] = await tx.select().from(table).where(eq(table.id, id));
  if (row === undefined) throw new AppError('not_found', 'There is no access token with this id.');
  if (row.revoked) throw new AppError('conflict', 'This access token is revoked and cannot be changed.');
  checkVersion('mcp_token', row, expected, 'access token');
  if (change.toolsets === null && row.toolsets !== null) checkEverything(null, all_toolsets);
  await refuseUnknownToolsets(context, change.toolsets ?? null, row.toolsets, tx);
  const before = toToken(row);
  // An update without changes creates no version and no history entry.
  if (canonical(toToken({ ...row, ...change })) === canonical(before)) return before;
  const after = { ...row, ...change, version: row.version + 1 };
  await tx.update(table).set(after).where(eq(table.id, id));
  await raiseRevision(app, tx, 'tokens');
  const subject = { entity_type: 'mcp_token', entity_id: id, entity_name: after.name } as const;
  await recordHistory(tx, context, { ...subject, before, after: toToken(after) });
  return toToken(after);
}

/** The list that hosts check bearer tokens against: digests and encrypted hashes. */
export async function tokensEvent(app: Platform): Promise<HostEvent> {
  const { mcp_tokens } = app.store.tables;
  // The revision is read first, so that the list is at least as new as its revision.
  const list = listName('tokens', await readRevision(app, 'tokens'));
  const rows = await app.store.db.select().from(mcp_tokens).orderBy(mcp_tokens.id);
  return {
    event: 'tokens',
    data: { tokens: rows.map(toLiveToken), list },
  };
}

/** Sends the current list to every connected host. Sends run one after the other, so that an older list never arrives last. */
const publishTokens = (app: Platform & WithHosts): Promise<void> =>
  app.hosts.sendList(async () => app.hosts.publish(await tokensEvent(app)));

/** Sends the list to the hosts of all servers. A response of the API means that all hosts that confirm lists have it. */
export async function pushTokens(app: Platform & WithHosts): Promise<void> {
  await afterCommit(app, 'telling hosts of access tokens', async () => {
    const list = listName('tokens', await readRevision(app, 'tokens'));
    await app.hosts.sendAndConfirm(list, CONFIRM_TIMEOUT_MS, () => Promise.all([publishTokens(app), signal(app, 'tokens')]));
  });
}

const FOLLOW_MS = 500;

/**
 * Sends changes of other servers, and changes that could not be sent before, to the hosts of this server. @returns a function
 * that stops it.
 */
export function followTokens(app: Platform & WithHosts): () => void {
  let known = 0;
  const look = async (): Promise<Outcome> => {
    const current = await readRevision(app, 'tokens');
    if (current !== known) await publishTokens(app);
    known = current;
    return 'idle';
  };
  return runEvery(app, { every_ms: FOLLOW_MS, what: 'reading the access tokens', work: look, wake: 'tokens' });
}

/** Well below the shortest idle timeout, one minute. */
const TELL_MS = 15_000;

/**
 * The idle timeout applies across all hosts, so each host receives the uses that others reported. @returns a function that stops
 * it.
 */
export function pushTokenUses(app: Platform & WithHosts, every_ms = TELL_MS): () => void {
  let sent = '[]';
  const tell = async (): Promise<void> => {
    const { mcp_tokens } = app.store.tables;
    const { id, last_used_at } = mcp_tokens;
    const uses = await app.store.db
      .select({ id, last_used_at })
      .from(mcp_tokens)
      .where(and(isNotNull(mcp_tokens.idle_timeout_minutes), isNotNull(last_used_at), eq(mcp_tokens.revoked, false)))
      .orderBy(id);
    const now = JSON.stringify(uses);
    if (now === sent) return;
    await publishTokens(app);
    sent = now;
  };
  return runEvery(app, { every_ms, what: 'sending the use of access tokens', work: tell });
}
