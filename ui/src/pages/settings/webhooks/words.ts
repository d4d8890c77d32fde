import type { Delivery, NoticeEvent } from '#core/contract/notices.ts';
import { EVENT_LABELS } from '#ui/src/kernel/record-words.ts';

/** What each event is, for who chooses among them. */
export const EVENT_HINTS: Readonly<Record<NoticeEvent, string>> = {
  proposal: 'An agent proposes a change, or a person approves or rejects it.',
  deploy: 'A new version is served.',
  rollback: 'An earlier version is served again.',
  canary_aborted: 'A canary ended without being promoted, because of a limit or by a person.',
  test_failed: 'A test that passed before, or that never ran, fails.',
  drift: 'A deployed definition no longer fits its tables.',
  host_gone: 'An MCP host has not been connected for 30 seconds, and when it is back.',
  certificate: 'A certificate was issued, or an order failed.',
  guard_hit: 'The prompt guard or another control refused a change.',
  login_locked: 'Sign-ins are refused after too many failures.',
  tool_failing: 'Four of five calls of a tool, resource or prompt fail, and when that is over.',
  queue_full: 'Calls of a connection are rejected because no slot is free, and when that is over.',
  sign_ins_refused: 'Many requests with an invalid access token are refused, and when that is over.',
};

export const STATUS: Readonly<Record<Delivery['status'], { readonly label: string; readonly tone: 'good' | 'bad' | 'warning' }>> =
  {
    waiting: { label: 'Waiting', tone: 'warning' },
    delivered: { label: 'Delivered', tone: 'good' },
    failed: { label: 'Failed', tone: 'bad' },
  };

/** Said of an attempt that was just made. */
export const outcomeOf =
  (delivered: (response_status: number | null) => string) =>
  ({ status, error, response_status }: Delivery): string | { readonly bad: string } =>
    status === 'delivered' ? delivered(response_status) : { bad: `The event was not delivered. ${error ?? ''}`.trimEnd() };

export const eventWord = (event: string): string =>
  event in EVENT_LABELS ? EVENT_LABELS[event as NoticeEvent] : event === 'test' ? 'Test' : event;
