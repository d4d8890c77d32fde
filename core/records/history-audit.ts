import type { AuditKind } from '#core/contract/observe/audit.ts';
import type { Context, Recorded } from '#core/context/context.ts';
import type { AuditDraft } from '#core/store/tables/audit.ts';
import { changedFields } from './changed-fields.ts';
import { auditOf } from './audit-log.ts';

const KINDS: Partial<Record<Recorded['entity_type'], AuditKind>> = { snapshot: 'deploy', server_config: 'setting' };

/** The audit entry of a history entry: which fields changed, without their values, which history has. */
export function auditOfChange(context: Context, recorded: Recorded): AuditDraft {
  const { entity_type, entity_id, entity_name, action, before, after, batch_id } = recorded;
  const entity = { type: entity_type, id: entity_id, name: entity_name };
  if (action === 'blocked') {
    const { code, fields, rules } = after ?? {};
    return auditOf(context, { kind: 'refusal', entity, outcome: 'refused', detail: { code, fields, rules } });
  }
  const proposal_id = context.proposal_run?.proposal_id;
  const version_of = (state: Recorded['after']) => (typeof state?.['version'] === 'number' ? state['version'] : undefined);
  return auditOf(context, {
    kind: KINDS[entity_type] ?? 'change',
    entity,
    outcome: 'ok',
    detail: {
      action: context.batch?.action ?? action,
      ...(before !== null && after !== null && { fields: changedFields(before, after).toSorted() }),
      version_before: version_of(before),
      version_after: version_of(after),
      batch_id,
      proposal_id,
      ...(typeof after?.['note'] === 'string' && { note: after['note'] }),
    },
  });
}
