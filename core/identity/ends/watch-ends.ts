import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { Platform } from '#core/platform/platform.ts';
import { and, asc, eq, gt, isNotNull, isNull, lte, or } from 'drizzle-orm';
import { type EndingCredential, NOTICE_DAYS } from '#core/contract/identity/token-ends.ts';
import type { Handlers } from '#core/context/context.ts';
import { raiseRevision } from '#core/hosts/confirmed-lists.ts';
import { runEvery } from '#core/platform/run-every.ts';
import { emitEvent } from '#core/records/events.ts';
import type { Db } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';
import { pushTokens } from '../mcp-tokens.ts';
import { daysFrom, defaultDays } from './token-ends.ts';

const LOOK_MS = 10 * 60_000;
/** Most credentials that a notice names. */
const MOST_NAMED = 50;

/** The credentials with an end: their tables have the same columns for it. */
const KINDS = [
  { type: 'mcp_token', table: 'mcp_tokens' },
  { type: 'oauth_client', table: 'agent_clients' },
  { type: 'oauth_app', table: 'oauth_apps' },
] as const satisfies readonly { readonly type: EndingCredential['type']; readonly table: keyof Schema }[];
type Kind = (typeof KINDS)[number];

const tableOf = ({ store }: Platform, { table }: Kind): Schema['agent_clients'] => store.tables[table] as Schema['agent_clients'];

/** Credentials that were not revoked, and apps that have a secret. */
const isLive = ({ store: { tables } }: Platform, { table }: Kind) =>
  table === 'oauth_apps' ? isNotNull(tables.oauth_apps.secret_digest) : eq(tables[table].revoked, false);

/** Gives credentials without an end one, and reports those that end soon. @returns a function that stops it. */
export const watchTokenEnds = (app: Platform & WithHosts): (() => void) =>
  runEvery(app, {
    every_ms: LOOK_MS,
    what: 'checking when tokens end',
    work: () => lookAtTokenEnds(app),
    at_once: true,
  });

/** Checks once. Servers that check at the same time report each end once. */
export async function lookAtTokenEnds(app: Platform & WithHosts): Promise<void> {
  await dateEndless(app);
  for (const days of NOTICE_DAYS.toReversed()) await reportEnds(app, days);
}

/**
 * Credentials from before the upgrade, or from a time without a longest lifetime, get their end now, counted from today. Nothing is
 * changed where the operator allows credentials without an end.
 */
async function dateEndless(app: Platform & WithHosts): Promise<void> {
  if (app.env.SVC_TOKEN_MAX_DAYS === 0) return;
  const endless = KINDS.map((kind) => ({ kind, where: and(isLive(app, kind), isNull(tableOf(app, kind).expires_at)) }));
  const counts = await Promise.all(endless.map(({ kind, where }) => app.store.db.$count(tableOf(app, kind), where)));
  if (counts.every((count) => count === 0)) return;
  const expires_at = daysFrom(app, await defaultDays(app));
  const dated = await app.store.write(async (tx) => {
    let rows = 0;
    for (const { kind, where } of endless) {
      const table = tableOf(app, kind);
      const changed = await tx.update(table).set({ expires_at }).where(where).returning({ id: table.id });
      rows += changed.length;
      if (kind.table === 'mcp_tokens' && changed.length > 0) await raiseRevision(app, tx, 'tokens');
    }
    return rows;
  });
  app.log.info('credentials without an end have one now', { credentials: dated, expires_at });
  await pushTokens(app);
}

async function reportEnds(app: Platform, days: number): Promise<void> {
  const now = app.clock().toISOString();
  const until = daysFrom(app, days);
  await app.store.write(async (tx) => {
    const ending: EndingCredential[] = [];
    for (const kind of KINDS) {
      const table = tableOf(app, kind);
      const unreported = or(isNull(table.warned_days), gt(table.warned_days, days));
      const rows = await tx
        .update(table)
        .set({ warned_days: days })
        .where(and(isLive(app, kind), gt(table.expires_at, now), lte(table.expires_at, until), unreported))
        .returning({ id: table.id, name: table.name, expires_at: table.expires_at });
      ending.push(...rows.map(({ expires_at, ...row }) => ({ type: kind.type, ...row, expires_at: expires_at ?? until })));
    }
    if (ending.length === 0) return;
    const tokens = ending.toSorted(byEnd).slice(0, MOST_NAMED);
    await emitEvent(app, 'token_expiring', { days, count: ending.length, tokens }, tx);
  });
}

const byEnd = (a: EndingCredential, b: EndingCredential): number => (a.expires_at < b.expires_at ? -1 : 1);

export const tokenEndHandlers: Pick<Handlers, 'credentials.ending'> = {
  'credentials.ending': async ({ app }, { skip, limit }) => {
    const [now, until] = [app.clock().toISOString(), daysFrom(app, NOTICE_DAYS[0])];
    const found = await Promise.all(KINDS.map((kind) => endingOf(app, app.store.db, kind, { now, until, most: skip + limit })));
    const items = found.flatMap(({ rows }) => rows).toSorted(byEnd);
    return { items: items.slice(skip, skip + limit), total: found.reduce((sum, { total }) => sum + total, 0) };
  },
};

interface Span {
  readonly now: string;
  readonly until: string;
  readonly most: number;
}

async function endingOf(app: Platform, db: Db, kind: Kind, { now, until, most }: Span) {
  const table = tableOf(app, kind);
  const where = and(isLive(app, kind), gt(table.expires_at, now), lte(table.expires_at, until));
  const [found, total] = await Promise.all([
    db
      .select({ id: table.id, name: table.name, expires_at: table.expires_at })
      .from(table)
      .where(where)
      .orderBy(asc(table.expires_at), asc(table.id))
      .limit(most),
    db.$count(table, where),
  ]);
  const rows = found.map(({ expires_at, ...row }): EndingCredential => ({
    type: kind.type,
    ...row,
    expires_at: expires_at ?? until,
  }));
  return { rows, total };
}
