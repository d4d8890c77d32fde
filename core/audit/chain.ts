import { createHash } from 'node:crypto';
import type { AuditEntry } from '#core/contract/observe/audit.ts';
import type { Schema } from '#core/store/schema.ts';
import type { AuditDraft } from '#core/store/tables/audit.ts';
import { canonical } from '#snapshots/format/canonical.ts';

export type AuditRow = Schema['audit_entries']['$inferSelect'];

/** The previous hash of the first entry. */
export const NO_HASH = '0'.repeat(64);

const text = (value: string | number | null): string => JSON.stringify(value);
const named = (type: string | null, id: string | null, name: string | null): string =>
  `{"id":${text(id)},"name":${text(name)},"type":${text(type ?? '')}}`;

/**
 * The hash of the entry of a row, over its canonical JSON: anyone can compute it from what the API returns. It covers every column, so
 * that filters read nothing that could have been changed unnoticed. The text is put together here, because a general function takes
 * several times as long.
 */
export function hashOf(row: Omit<AuditRow, 'hash' | 'pruned_by'>, previous: string): string {
  const { seq, at, kind, actor_type, actor_id, actor_name, entity_type, entity_id, entity_name, tool, ip, request_id } = row;
  const entity = entity_type === null ? '' : `"entity":${named(entity_type, entity_id, entity_name)},`;
  const called = tool === null ? '' : `,"tool":${text(tool)}`;
  const json = `{"actor":${named(actor_type, actor_id, actor_name)},"at":${text(at)},"detail":${row.detail ?? '{}'},${entity}"ip":${text(ip)},"kind":${text(kind)},"outcome":${text(row.outcome ?? '')},"previous":${text(previous)},"request_id":${text(request_id)},"seq":${seq}${called}}`;
  return createHash('sha256').update(json).digest('hex');
}

/** The digest of the hashes of entries whose contents were deleted, in their order. */
export function digestOf(hashes: Iterable<string>): string {
  const digest = createHash('sha256');
  for (const hash of hashes) digest.update(`${hash}\n`);
  return digest.digest('hex');
}

/** Gives a draft its number and hash. */
export function toRow(seq: number, previous: string, draft: AuditDraft): AuditRow {
  const { at, kind, actor, entity, tool, outcome, ip, request_id } = draft;
  const row: AuditRow = {
    seq,
    at,
    kind,
    actor_type: actor.type,
    actor_id: actor.id,
    actor_name: actor.name,
    entity_type: entity?.type ?? null,
    entity_id: entity?.id ?? null,
    entity_name: entity?.name ?? null,
    tool: tool ?? null,
    outcome,
    ip,
    request_id,
    detail: canonical(draft.detail),
    hash: '',
    pruned_by: null,
  };
  row.hash = hashOf(row, previous);
  return row;
}

/** The entry of a row. */
export function toEntry(row: AuditRow, previous: string): AuditEntry {
  const { seq, at, kind, tool, outcome, ip, request_id, detail, hash } = row;
  const entity = { type: row.entity_type ?? '', id: row.entity_id, name: row.entity_name };
  return {
    seq,
    at,
    kind,
    actor: { type: row.actor_type ?? '', id: row.actor_id, name: row.actor_name },
    ...(row.entity_type !== null && { entity }),
    ...(tool !== null && { tool }),
    outcome: outcome ?? '',
    ip,
    request_id,
    detail: JSON.parse(detail ?? '{}') as Record<string, unknown>,
    previous,
    hash,
  };
}
