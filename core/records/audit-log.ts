import type { Actor, Context } from '#core/context/context.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Db } from '#core/store/store.ts';
import type { AuditDraft, NamedRef } from '#core/store/tables/audit.ts';

/** Enters what a transaction does into the audit log; both are stored, or neither. `core/audit` numbers and chains it later. */
export async function enterAudit({ store }: Pick<Platform, 'store'>, tx: Db, drafts: readonly AuditDraft[]): Promise<void> {
  if (drafts.length > 0) await tx.insert(store.tables.audit_pending).values({ drafts: [...drafts] });
}

type What = Pick<AuditDraft, 'kind' | 'outcome' | 'detail'> & Partial<Pick<AuditDraft, 'entity' | 'tool' | 'actor'>>;

/** An entry about a request. */
export const auditOf = ({ app, actor, ip, request_id }: Omit<Context<Platform>, 'operations'>, what: What): AuditDraft => ({
  at: app.clock().toISOString(),
  actor: actorRef(actor),
  ip,
  request_id,
  ...what,
});

export const ANONYMOUS_REF: NamedRef = { type: 'anonymous', id: null, name: null };

export const actorRef = (actor: Actor | null): NamedRef =>
  actor === null ? ANONYMOUS_REF : { type: actor.type === 'admin' ? 'person' : actor.type, id: actor.id, name: actor.name };
