import type { Platform } from '#core/platform/platform.ts';
import { desc, isNotNull, isNull } from 'drizzle-orm';
import { announce } from '#core/platform/announcements.ts';
import { countMinute } from '#core/cluster/kv.ts';
import type { OauthAttempt } from '#core/contract/identity/oauth.ts';
import { networkOf } from '#core/edge/client-address.ts';
import type { TokenAnswer } from '#core/identity/agent-grants.ts';
import { reasonOf } from '#core/process/log.ts';
import type { Handlers } from '#core/context/context.ts';
import { enterAudit } from '#core/records/audit-log.ts';
import { keepNewest, readPage } from '#core/store/pages.ts';
import type { Schema } from '#core/store/schema.ts';
import type { AuditDraft } from '#core/store/tables/audit.ts';
import { clientName } from './clients/client-name.ts';

export interface AuthorizationAttempt {
  /** Name of the client, if known. Anyone can have chosen it. */
  readonly client?: string | null;
  readonly client_id: string;
  readonly step: OauthAttempt['step'];
  readonly reason: string | null;
  readonly person?: string | null;
  readonly ip: string | null;
  /** Name of the identity provider that signed an assertion; only in the audit log. */
  readonly provider?: string | null;
  /** False: only in the audit log, because the list would contain little else. */
  readonly listed?: boolean;
}

/** A response of the token endpoint, with what the attempt says beside it. */
export interface NotedAnswer extends TokenAnswer {
  readonly noted?: Pick<AuthorizationAttempt, 'person' | 'provider' | 'listed'>;
}

/** A step of a sign-in in the audit log. The client is what it says of itself, until a person has signed in with it. */
const toAudit = (row: AttemptRow, provider: string | null): AuditDraft => {
  const { client, client_id, step, reason, person, ip, created_at } = row;
  return {
    at: created_at,
    kind: 'sign_in',
    actor: person === null ? { type: 'client', id: client_id, name: client } : { type: 'person', id: null, name: person },
    outcome: reason === null ? 'ok' : 'refused',
    ip,
    request_id: null,
    detail: { step, client, client_id, ...(provider !== null && { provider }), ...(reason !== null && { reason }) },
  };
};

type AttemptRow = Omit<Schema['oauth_attempts']['$inferSelect'], 'id'>;

const MAX_ATTEMPTS = 500;
/** Attempts per minute that are recorded for one network. Further ones are not recorded. */
const NOTED_A_MINUTE = 30;

/** Records a step of a sign-in, so that people can find out why it fails. Never throws. */
export async function noteAttempt(
  app: Platform,
  { client, client_id, step, reason, person = null, ip, provider = null, listed = true }: AuthorizationAttempt,
): Promise<void> {
  const shown_id = clientName(client_id.slice(0, 300)) ?? '';
  const name = clientName(client) ?? shown_id;
  const { log } = app;
  const fields = { client: name, client_id: shown_id, step, ip };
  if (reason === null) log.info('client sign-in', fields);
  else log.warning('client sign-in failed', { ...fields, reason });
  const is_listed = listed && (await countMinute(app, `oauth:noted:${networkOf(ip ?? '')}`)).count <= NOTED_A_MINUTE;
  // There is no consent to audit, and all clients of a company may call from one network. The endpoint limits their number.
  if (!is_listed && step !== 'assertion') return;
  const { oauth_attempts: table } = app.store.tables;
  const row = {
    id: app.ids(),
    client: name,
    client_id: shown_id,
    step,
    reason,
    person,
    ip,
    created_at: app.clock().toISOString(),
  };
  await app.store
    .write(async (tx) => {
      await enterAudit(app, tx, [toAudit(row, provider)]);
      if (!is_listed) return;
      await tx.insert(table).values(row);
      await keepNewest(tx, table, MAX_ATTEMPTS);
    })
    .then(() => is_listed && announce(app, 'oauth_attempts'))
    .catch((error: unknown) => log.warning('a sign-in attempt was not stored', { reason: reasonOf(error) }));
}

export const oauthAttemptHandlers: Pick<Handlers, 'oauth_attempts.list'> = {
  'oauth_attempts.list': async ({ app }, { skip, limit, success }) => {
    const { oauth_attempts: table } = app.store.tables;
    const where = success === undefined ? undefined : success ? isNull(table.reason) : isNotNull(table.reason);
    const { rows, total } = await readPage(app.store.db, table, { where, order: [desc(table.id)], skip, limit });
    const items = rows.map(({ created_at, ...row }) => ({ ...row, timestamp: created_at, success: row.reason === null }));
    return { items, total };
  },
};
