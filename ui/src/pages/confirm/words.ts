import type { ConfirmationRequest } from '#core/contract/identity/confirmations.ts';
import { num } from '#ui/src/kernel/numbers.ts';

const rows = (count: number): string => (count === 1 ? '1 row' : `${num(count)} rows`);

export const WORDS = {
  title: ({ affected_rows }: ConfirmationRequest) => `Change ${rows(affected_rows)}?`,
  title_anonymous: 'Confirm a change',
  lead: ({ person }: ConfirmationRequest) => `Your client asks you, ${person.username}, before a tool changes data.`,
  lead_anonymous: 'Sign in as the person whose client sent you here. Nothing is changed before you approve.',
  tool: 'Tool',
  tool_name: ({ title, tool }: ConfirmationRequest) => (title === null ? tool : `${title} (${tool})`),
  statement: 'Statement',
  affected: 'Affected',
  rows: ({ affected_rows, direct_rows }: ConfirmationRequest): string =>
    direct_rows === null || direct_rows === affected_rows
      ? rows(affected_rows)
      : `${rows(affected_rows)}: ${num(direct_rows)} directly, ${num(affected_rows - direct_rows)} through cascades, triggers or functions`,
  changed: (before: number) => `The number of rows changed since you were asked. It was ${num(before)}.`,
  arguments: 'Arguments',
  no_arguments: 'None',
  more: (count: number) => `and ${count} more`,
  client: 'Client',
  kind: 'Identity',
  host: 'From',
  resource: 'Server',
  expires: (seconds: number) =>
    seconds === 0
      ? 'This request expires soon. Nothing has been changed yet.'
      : `Expires in ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}. Nothing has been changed yet.`,
  approve: ({ affected_rows }: ConfirmationRequest) => `Change ${rows(affected_rows)}`,
  decline: 'Decline',
  other: 'Use another account',
  other_title: 'This request is for another person',
  other_lead: 'Only the person whose client called the tool can see it and decide. Sign in as that person.',
  gone_title: 'This request is no longer open',
  gone: 'It expired or was already decided. If you still want the change, ask your client to call the tool again.',
  approved_title: 'Approved',
  approved: 'The tool runs now. If other rows would change by then, you are asked again.',
  declined_title: 'Declined',
  declined: 'Nothing was changed.',
  close: 'You can close this window and return to your client.',
} as const;
