import * as v from 'valibot';
import { listInput, listOf, Timestamp } from '../fields.ts';
import { NoticeEvent } from '../notices.ts';
import { operation } from '../operation.ts';

/** How long events are kept, and how many of each kind. */
export const EVENTS_KEPT_DAYS = 30;
export const EVENTS_KEPT = 200;
export const MOST_UNREAD = 100;

export const NoticeItem = v.object({
  id: v.string(),
  event: NoticeEvent,
  created_at: Timestamp,
  message: v.string(),
  about: v.pipe(
    v.nullable(v.string()),
    v.description('Id of a proposal, definition or connection, version of a deploy, type of a record'),
  ),
  path: v.pipe(v.string(), v.description('Page of the interface that shows it')),
  ended_at: v.pipe(v.nullable(Timestamp), v.description('null: it lasts, or has no end')),
  unread: v.boolean(),
});
export type NoticeItem = v.InferOutput<typeof NoticeItem>;

const unread = v.pipe(
  v.number(),
  v.description(
    `Those that the signed-in person has not read and that are not over, counted up to ${MOST_UNREAD}; 0 for a token`,
  ),
);

/** What happened, with or without a webhook. */
export const noticeEvents = {
  'notices.events': operation('GET /notices/events', 'read', {
    input: v.strictObject({ ...listInput(100), event: v.optional(NoticeEvent) }),
    output: v.object({ ...listOf(NoticeItem).entries, unread }),
    agent: 'list_notices',
    summary: `List what happened, newest first: the last ${EVENTS_KEPT} of each event, for ${EVENTS_KEPT_DAYS} days. What concerns sign-ins, the prompt guard and certificates only administrators see, and nobody what they did themselves`,
  }),
  'notices.read': operation('POST /notices/events/read', 'admin', {
    role: 'viewer',
    input: v.strictObject({
      up_to: v.pipe(
        v.string(),
        v.regex(/^\d{1,15}$/, 'must be the id of a notice'),
        v.description('The newest one that was read'),
      ),
    }),
    output: v.object({ unread }),
    summary: 'Mark notices as read, up to one of them, for the signed-in person',
  }),
};
