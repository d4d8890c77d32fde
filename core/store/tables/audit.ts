import { sql } from 'drizzle-orm';
import type { JWK } from 'jose';
import type { AuditHead, AuditKind } from '#core/contract/observe/audit.ts';
import type { Sealed } from '#core/contract/fields.ts';
import type { Kit } from '../kit.ts';

/** What a transaction enters into the audit log, before it has a number and a hash. */
export interface AuditDraft {
  readonly at: string;
  readonly kind: AuditKind;
  readonly actor: NamedRef;
  readonly entity?: NamedRef;
  readonly tool?: string;
  readonly outcome: string;
  readonly ip: string | null;
  readonly request_id: string | null;
  /** Never arguments, values or secrets. */
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface NamedRef {
  readonly type: string;
  readonly id: string | null;
  readonly name: string | null;
}

/** The audit log: drafts that wait for their number, the chain, and signatures over its newest entry. */
export function auditTables(k: Kit) {
  /** Written in the transaction of what they are about, in any order. */
  const audit_pending = k.table('audit_pending', { id: k.counter().primaryKey(), drafts: k.json<AuditDraft[]>().notNull() });
  const audit_entries = k.table(
    'audit_entries',
    {
      seq: k.counter().primaryKey(),
      at: k.text().notNull(),
      kind: k.text().$type<AuditKind>().notNull(),
      actor_type: k.text(),
      actor_id: k.text(),
      actor_name: k.text(),
      entity_type: k.text(),
      entity_id: k.text(),
      entity_name: k.text(),
      tool: k.text(),
      outcome: k.text(),
      ip: k.text(),
      request_id: k.text(),
      /** Canonical JSON. */
      detail: k.text(),
      hash: k.text().notNull(),
      /** The signed statement by which everything but number, kind, time and hash was removed. */
      pruned_by: k.text(),
    },
    (t) => [
      // Most entries are calls. Each index with many values in turn costs such an entry as much as the rest of it.
      k.index('audit_entries_at').on(t.at),
      k.index('audit_entries_kind').on(t.kind, t.at),
      k.index('audit_entries_actor').on(t.actor_name),
      k.index('audit_entries_tool').on(t.tool),
      k
        .index('audit_entries_entity_name')
        .on(t.entity_name)
        .where(sql`tool is null`),
      k
        .index('audit_entries_entity_id')
        .on(t.entity_id)
        .where(sql`tool is null`),
      // Few entries are.
      k
        .index('audit_entries_pruned')
        .on(t.pruned_by)
        .where(sql`pruned_by is not null`),
    ],
  );
  const audit_heads = k.table(
    'audit_heads',
    {
      id: k.text().primaryKey(),
      type: k.text().$type<AuditHead['type']>().notNull(),
      seq: k.real().notNull(),
      hash: k.text().notNull(),
      at: k.text().notNull(),
      kid: k.text().notNull(),
      jws: k.text().notNull(),
    },
    (t) => [k.index('audit_heads_seq').on(t.seq), k.index('audit_heads_type').on(t.type, t.at)],
  );
  const audit_keys = k.table('audit_keys', {
    /** Thumbprint of the public key (RFC 7638). */
    kid: k.text().primaryKey(),
    public_key: k.json<JWK>().notNull(),
    /** A JWK sealed as `audit_key/<kid>/private_key`. */
    private_key: k.json<Sealed>().notNull(),
    created_at: k.text().notNull(),
  });
  /** How far entries and heads were sent to other systems. */
  const audit_sinks = k.table('audit_sinks', {
    name: k.text().$type<'syslog' | 'otlp'>().primaryKey(),
    seq: k.real().notNull(),
    /** Id of the last head that was sent. */
    head: k.text(),
    error: k.text(),
    at: k.text().notNull(),
  });
  return { audit_pending, audit_entries, audit_heads, audit_keys, audit_sinks };
}
