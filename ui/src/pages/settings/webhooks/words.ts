import type { Delivery, NoticeEvent } from '#core/contract/notices.ts';

/** What each event is, for who chooses among them. */
export const EVENT_WORDS: Readonly<Record<NoticeEvent, { readonly label: string; readonly hint: string }>> = {
  proposal: { label: 'Proposal', hint: 'An agent proposes a change, or a person approves or rejects it.' },
  deploy: { label: 'Deploy', hint: 'A new version is served.' },
  rollback: { label: 'Rollback', hint: 'An earlier version is served again.' },
  canary_aborted: { label: 'Canary aborted', hint: 'A canary ended without being promoted: by a limit, or by a person.' },
  test_failed: { label: 'Failed test', hint: 'A test fails that passed before, or has not run before.' },
  drift: { label: 'Drift', hint: 'A deployed definition no longer fits its tables.' },
  host_gone: { label: 'Host lost', hint: 'An MCP host has not been connected for 30 seconds.' },
  certificate: { label: 'Certificate', hint: 'A certificate was issued, or an order failed.' },
  guard_hit: { label: 'Refused change', hint: 'The prompt guard or another control refused a change.' },
  login_locked: { label: 'Locked sign-in', hint: 'Sign-ins are refused after too many failures.' },
};

export const STATUS: Readonly<Record<Delivery['status'], { readonly label: string; readonly tone: 'good' | 'bad' | 'brass' }>> = {
  waiting: { label: 'Waiting', tone: 'brass' },
  delivered: { label: 'Delivered', tone: 'good' },
  failed: { label: 'Failed', tone: 'bad' },
};

export const eventWord = (event: string): string =>
  event in EVENT_WORDS ? EVENT_WORDS[event as NoticeEvent].label : event === 'test' ? 'Test' : event;
