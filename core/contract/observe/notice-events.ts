import * as v from 'valibot';
import { listInput, listOf, Timestamp } from '../fields.ts';
import { NoticeEvent } from './notices.ts';
import { operation } from '../operation.ts';

/** Retention of events, and the maximum per kind. */
export const EVENTS_RETENTION_DAYS = 30;
export const MAX_EVENTS_PER_KIND = 200;
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

/** Events, with or without a webhook. */
export const noticeEvents = {
  'notices.events': operation('GET /notices/events', 'read', {
    input: v.strictObject({ ...listInput(100), event: v.optional(NoticeEvent) }),
    output: v.object({ ...listOf(NoticeItem).entries, unread }),
    agent: 'list_notices',
    summary: `List what happened, newest first: the last ${MAX_EVENTS_PER_KIND} of each event, for ${EVENTS_RETENTION_DAYS} days. Only administrators see events of sign-ins, the prompt guard and certificates; no one sees events of their own actions`,
  }),
  'notices.read': operation('POST /notices/events/read', 'session', {
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
