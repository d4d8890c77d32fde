import * as v from 'valibot';
import { byId, Id, listInput, listOf, patchOf, shownText, Timestamp, Version } from '../fields.ts';
import { field, valuesOf } from '../marks.ts';
import { deletion, operation } from '../operation.ts';
import { HttpUrl } from '../settings/setting-values.ts';

/** Events that a webhook can receive. */
export const EVENT_CHOICES = {
  proposal: { label: 'Proposal', help: 'An agent proposes a change, or a person approves or rejects it.' },
  deploy: { label: 'Deploy', help: 'A new version is served.' },
  rollback: { label: 'Rollback', help: 'An earlier version is served again.' },
  canary_aborted: { label: 'Canary aborted', help: 'A canary was aborted, by a limit or by a person.' },
  test_failed: { label: 'Test failed', help: 'A test that passed before, or that never ran, fails.' },
  drift: { label: 'Drift', help: 'A deployed definition no longer fits its tables.' },
  host_gone: { label: 'Host lost', help: 'An MCP host has been disconnected for 30 seconds, or is connected again.' },
  host_disk: {
    label: 'Host disk',
    help: 'An MCP host cannot save what it serves on its disk, or can again. After a restart without the server it would use older copies.',
  },
  certificate: { label: 'Certificate', help: 'A certificate was issued, or an order failed.' },
  guard_hit: { label: 'Change refused', help: 'The prompt guard or another control refused a change.' },
  audit_head: {
    label: 'Audit head',
    help: 'The audit log signed its newest entry. Webhooks only.',
  },
  login_locked: { label: 'Sign-in locked', help: 'Sign-ins are refused after too many failures.' },
  tool_failing: { label: 'Tool failing', help: 'Four of five calls of a tool, resource or prompt fail, or no longer do.' },
  queue_full: { label: 'Queue full', help: 'Calls of a connection are rejected because no slot is free, or no longer are.' },
  token_expiring: { label: 'Token expiring', help: 'Tokens or secrets of clients end soon.' },
  sign_ins_refused: {
    label: 'Tokens refused',
    help: 'Many requests with an invalid access token are refused, or no longer are.',
  },
};
export const NoticeEvent = v.picklist(valuesOf(EVENT_CHOICES));
export type NoticeEvent = v.InferOutput<typeof NoticeEvent>;

export const MOST_NOTICES = 20;

const draft = {
  name: field(shownText(100), { label: 'Name', help: 'Who is notified, such as a team chat.' }),
  url: field(HttpUrl, {
    label: 'URL',
    help: 'Receives a signed POST request for each event.',
    control: 'url',
    placeholder: 'https://hooks.example.com/sluice',
  }),
  events: field(
    v.pipe(
      v.array(NoticeEvent),
      v.minLength(1),
      v.check((events) => new Set(events).size === events.length, 'must have each event once'),
    ),
    { label: 'Events', choices: EVENT_CHOICES },
  ),
  enabled: field(v.boolean(), { label: 'Enabled', help: 'A disabled webhook receives nothing.', default: true }),
};
export const NoticeDraft = v.strictObject(draft);
export type NoticeDraft = v.InferOutput<typeof NoticeDraft>;

export const DELIVERY_CHOICES = {
  waiting: { label: 'Waiting' },
  delivered: { label: 'Delivered' },
  failed: { label: 'Failed' },
};
export const Delivery = v.object({
  id: Id,
  event: v.pipe(v.string(), v.description('The event, or `test`')),
  status: v.picklist(valuesOf(DELIVERY_CHOICES)),
  attempts: v.number(),
  response_status: v.pipe(v.nullable(v.number()), v.description('HTTP status of the last answer; null: there was none')),
  error: v.pipe(v.nullable(v.string()), v.description('Why the last attempt failed')),
  created_at: Timestamp,
  last_attempt_at: v.nullable(Timestamp),
  next_attempt_at: v.pipe(v.nullable(Timestamp), v.description('null: there is no further attempt')),
});
export type Delivery = v.InferOutput<typeof Delivery>;

export const Notice = v.object({
  id: Id,
  ...draft,
  last_delivery: v.nullable(Delivery),
  version: v.number(),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Notice = v.InferOutput<typeof Notice>;

/** Hours during which a rotated secret still signs. */
export const OLD_SECRET_HOURS = 24;
const WithSecret = v.object({
  ...Notice.entries,
  secret: v.pipe(v.string(), v.description('Verifies the signatures (`whsec_…`). Shown only once')),
});

/** Webhooks, signed according to Standard Webhooks. */
export const notices = {
  'notices.list': operation('GET /notices', 'session', {
    input: v.strictObject(listInput(100)),
    output: listOf(Notice),
    summary: 'List webhooks, in the order of their names',
  }),
  'notices.create': operation('POST /notices', 'session', {
    input: NoticeDraft,
    output: WithSecret,
    status: 201,
    summary: 'Create a webhook',
  }),
  'notices.update': operation('PATCH /notices/{id}', 'session', {
    input: v.strictObject({ id: Id, version: v.optional(Version), ...patchOf(draft) }),
    output: Notice,
    summary: 'Change a webhook; its secret stays',
  }),
  'notices.delete': deletion('DELETE /notices/{id}', 'session', 'Delete a webhook with its delivery log'),
  'notices.test': operation('POST /notices/{id}/test', 'session', {
    input: byId,
    output: Delivery,
    summary: 'Send a test event to a webhook now, once',
  }),
  'notices.rotate_secret': operation('POST /notices/{id}/rotate-secret', 'session', {
    input: byId,
    output: WithSecret,
    summary: `Give a webhook a new secret; for ${OLD_SECRET_HOURS} hours both sign`,
  }),
  'notices.deliveries': operation('GET /notices/{id}/deliveries', 'session', {
    input: v.strictObject({ id: Id, ...listInput(100) }),
    output: listOf(Delivery),
    summary: 'List deliveries of a webhook, newest first; finished ones for 30 days',
  }),
  'notices.redeliver': operation('POST /notices/{id}/deliveries/{delivery_id}/redeliver', 'session', {
    input: v.strictObject({ id: Id, delivery_id: Id }),
    output: Delivery,
    summary: 'Send a delivery again now, once, with the same `webhook-id`',
  }),
};
