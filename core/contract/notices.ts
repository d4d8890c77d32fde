import * as v from 'valibot';
import { byId, Id, listInput, listOf, patchOf, shownText, Timestamp, Version } from './fields.ts';
import { field } from './marks.ts';
import { deletion, operation } from './operation.ts';
import { HttpUrl } from './settings/setting-values.ts';

/** What a webhook can be told of. */
export const NOTICE_EVENTS = [
  'proposal',
  'deploy',
  'rollback',
  'canary_aborted',
  'test_failed',
  'drift',
  'host_gone',
  'certificate',
  'guard_hit',
  'login_locked',
  'tool_failing',
  'queue_full',
  'sign_ins_refused',
] as const;
export const NoticeEvent = v.picklist(NOTICE_EVENTS);
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
    { label: 'Events' },
  ),
  enabled: field(v.boolean(), { label: 'Enabled', help: 'A disabled webhook receives nothing.', default: true }),
};
export const NoticeDraft = v.strictObject(draft);
export type NoticeDraft = v.InferOutput<typeof NoticeDraft>;

export const Delivery = v.object({
  id: Id,
  event: v.pipe(v.string(), v.description('The event, or `test`')),
  status: v.picklist(['waiting', 'delivered', 'failed']),
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

/** How long a secret that was rotated still signs. */
export const OLD_SECRET_HOURS = 24;
const WithSecret = v.object({
  ...Notice.entries,
  secret: v.pipe(v.string(), v.description('Verifies the signatures (`whsec_…`). Shown only once')),
});

/** Webhooks, signed as Standard Webhooks describes. */
export const notices = {
  'notices.list': operation('GET /notices', 'admin', {
    input: v.strictObject(listInput(100)),
    output: listOf(Notice),
    summary: 'List webhooks, in the order of their names',
  }),
  'notices.create': operation('POST /notices', 'admin', {
    input: NoticeDraft,
    output: WithSecret,
    status: 201,
    summary: 'Create a webhook',
  }),
  'notices.update': operation('PATCH /notices/{id}', 'admin', {
    input: v.strictObject({ id: Id, version: v.optional(Version), ...patchOf(draft) }),
    output: Notice,
    summary: 'Change a webhook; its secret stays',
  }),
  'notices.delete': deletion('DELETE /notices/{id}', 'admin', 'Delete a webhook with its delivery log'),
  'notices.test': operation('POST /notices/{id}/test', 'admin', {
    input: byId,
    output: Delivery,
    summary: 'Send a test event to a webhook now, once',
  }),
  'notices.rotate_secret': operation('POST /notices/{id}/rotate-secret', 'admin', {
    input: byId,
    output: WithSecret,
    summary: `Give a webhook a new secret; for ${OLD_SECRET_HOURS} hours both sign`,
  }),
  'notices.deliveries': operation('GET /notices/{id}/deliveries', 'admin', {
    input: v.strictObject({ id: Id, ...listInput(100) }),
    output: listOf(Delivery),
    summary: 'List deliveries of a webhook, newest first; finished ones for 30 days',
  }),
  'notices.redeliver': operation('POST /notices/{id}/deliveries/{delivery_id}/redeliver', 'admin', {
    input: v.strictObject({ id: Id, delivery_id: Id }),
    output: Delivery,
    summary: 'Send a delivery again now, once, with the same `webhook-id`',
  }),
};
