import * as v from 'valibot';
import { Empty, integerBetween, listInput, listOf, textBetween, Timestamp } from '../fields.ts';
import { operation } from '../operation.ts';
import { AUDIT_KINDS } from '../settings/audit-kinds.ts';
import { Time } from './calls.ts';

export const AuditKind = v.picklist(AUDIT_KINDS);
export type AuditKind = v.InferOutput<typeof AuditKind>;

const Seq = integerBetween(0, Number.MAX_SAFE_INTEGER);
const Named = v.object({ type: v.string(), id: v.nullable(v.string()), name: v.nullable(v.string()) });

export const AuditEntry = v.object({
  seq: v.pipe(v.number(), v.description('Numbers without a gap, from 1')),
  at: Timestamp,
  kind: AuditKind,
  actor: v.pipe(
    Named,
    v.description('`person`, `token`, `client`, `agent_token`, `oauth_client`, `system` or `anonymous`, with its id and name'),
  ),
  entity: v.optional(v.pipe(Named, v.description('The record; a call: the definition'))),
  tool: v.optional(v.pipe(v.string(), v.description('Name of the tool, resource or prompt that was called'))),
  outcome: v.pipe(v.string(), v.description('`ok`, `refused`, or how a call ended, as in the request log')),
  ip: v.nullable(v.string()),
  request_id: v.nullable(v.string()),
  detail: v.pipe(
    v.record(v.string(), v.unknown()),
    v.description('Depends on the kind; never arguments, values or secrets. A call: `calls`, `rows`, `unmasked` and others'),
  ),
  previous: v.pipe(v.string(), v.description('`hash` of the entry before; 64 zeros: the first')),
  hash: v.pipe(
    v.string(),
    v.description('SHA-256 in hex of the entry without `hash`, as JSON with sorted keys and no white space (RFC 8785)'),
  ),
});
export type AuditEntry = v.InferOutput<typeof AuditEntry>;

export const AuditHead = v.object({
  id: v.string(),
  type: v.pipe(
    v.picklist(['head', 'start', 'pruned']),
    v.description(
      '`head`: the newest entry at that time; `start`: entries up to it were deleted; `pruned`: the contents of some before it were',
    ),
  ),
  seq: v.number(),
  hash: v.string(),
  at: Timestamp,
  kid: v.string(),
  jws: v.pipe(v.string(), v.description('JWS in compact form, signed with ES256 by the key `kid` of `GET audit/keys`')),
});
export type AuditHead = v.InferOutput<typeof AuditHead>;

const JWS = v.pipe(textBetween(1, 4_096), v.regex(/^[\w-]+\.[\w-]+\.[\w-]+$/, 'must be a JWS in compact form'));
const GivenHead = v.union(
  [
    JWS,
    v.pipe(
      v.looseObject({ jws: JWS }),
      v.transform(({ jws }) => jws),
    ),
  ],
  'must be a signed head',
);

export const AuditReport = v.object({
  ok: v.boolean(),
  entries: v.pipe(v.number(), v.description('Entries that were checked')),
  pruned: v.pipe(v.number(), v.description('Entries of which only the hash is left')),
  heads: v.pipe(v.number(), v.description('Signed heads that were compared with the entries')),
  first_seq: v.pipe(v.nullable(v.number()), v.description('The oldest entry; null: there is none')),
  last_seq: v.nullable(v.number()),
  first_bad: v.pipe(v.optional(v.number()), v.description('The first entry that is not as it was written; absent: none')),
  reason: v.pipe(v.optional(v.string()), v.description('What is wrong, as a sentence')),
});
export type AuditReport = v.InferOutput<typeof AuditReport>;

export const MOST_HEADS = 10_000;

export const auditFilters = {
  kind: v.optional(AuditKind),
  actor: v.pipe(v.optional(textBetween(1, 255)), v.description('Name or id of the actor')),
  entity: v.pipe(
    v.optional(textBetween(1, 255)),
    v.description('Name or id of the record; calls are found by the name of their definition'),
  ),
  tool: v.optional(textBetween(1, 255)),
  unmasked: v.pipe(
    v.optional(textBetween(1, 255)),
    v.description('Only calls whose caller saw this column without its mask; `*`: any masked column'),
  ),
  since: v.optional(Time),
  until: v.pipe(v.optional(Time), v.description('Only entries before this time')),
};

export const ExportFormat = v.optional(v.picklist(['jsonl', 'ocsf']), 'jsonl');

/** The audit log: who changed, deployed, called, was refused, signed in, approved or exported. */
export const audit = {
  'audit.list': operation('GET /audit', 'session', {
    input: v.strictObject({
      after: v.pipe(v.optional(Seq), v.description('Entries with a greater number, oldest first; `next` of the last answer')),
      before: v.pipe(v.optional(Seq), v.description('Entries with a smaller number, newest first')),
      limit: v.optional(integerBetween(1, 500), 100),
      ...auditFilters,
    }),
    output: v.object({
      items: v.array(AuditEntry),
      next: v.pipe(v.nullable(v.number()), v.description('Cursor of the next page; null: there is none yet')),
    }),
    summary: 'Read the audit log: newest first, or with `after` oldest first',
  }),
  'audit.heads': operation('GET /audit/heads', 'session', {
    input: v.strictObject(listInput(500)),
    output: listOf(AuditHead),
    summary: 'List the signed heads of the audit log, newest first, to store elsewhere',
  }),
  'audit.keys': operation('GET /audit/keys', 'session', {
    input: Empty,
    output: v.object({ keys: v.array(v.record(v.string(), v.unknown())) }),
    summary: 'Get the public keys that sign heads of the audit log, as a JWK set',
  }),
  'audit.verify': operation('POST /audit/verify', 'session', {
    input: v.strictObject({
      heads: v.pipe(
        v.optional(v.pipe(v.array(GivenHead), v.maxLength(MOST_HEADS)), []),
        v.description('Heads that were stored elsewhere: only they show that entries were rewritten or cut off'),
      ),
    }),
    output: AuditReport,
    summary: 'Check every entry of the audit log against its hash, the entry before and signed heads',
    max_body: 16 * 1024 * 1024,
  }),
  'audit.sinks': operation('GET /audit/sinks', 'session', {
    input: Empty,
    output: v.object({
      items: v.array(
        v.object({
          name: v.picklist(['syslog', 'otlp']),
          seq: v.pipe(v.number(), v.description('The last entry that was sent')),
          waiting: v.number(),
          error: v.pipe(v.nullable(v.string()), v.description('Why the last attempt failed')),
          at: Timestamp,
        }),
      ),
    }),
    summary: 'Show how far the audit log was sent to syslog and OTLP',
  }),
};
