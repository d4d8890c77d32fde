import type { ProposalItem, ProposalStatus } from '#core/contract/proposals.ts';
import type { Tone } from '#ui/src/components/badge.tsx';
import { plural } from '#ui/src/kernel/words.ts';

export const WORDS = {
  title: 'Proposals',
  lead: 'Changes that agents ask for. Approving one changes the working copy; nothing is deployed.',
  state: 'State',
  all: 'All proposals',
  proposal: 'Proposal',
  changes: 'Changes',
  updated: 'Updated',
  none: 'No proposals to review',
  none_text: 'Give an agent a token with the permission Propose. What it changes waits here until a person approves it.',
  none_action: 'Create agent token',
  none_of_state: 'No proposals in this state',
  why: 'Why',
  no_why: 'The author gave no reason.',
  what: 'What it does',
  what_lead: 'In the order in which it was proposed.',
  diff: 'What changes',
  diff_none: 'The definitions that are served stay as they are.',
  diff_label: 'Changes of the working copy',
  tests_changed: 'Tests that change',
  findings: 'Findings',
  findings_lead: 'What the deploy checks say of this proposal.',
  no_findings: 'Nothing found.',
  blocks: 'blocks a deploy',
  tests: 'Test results',
  no_tests: 'No test covers what changes.',
  replay: 'Replay',
  replay_lead: 'What clients called lately, on the live version and on the working copy with this proposal.',
  comments: 'Comments',
  no_comments: 'No comments yet.',
  comment: 'Comment',
  comment_hint: 'The author can read it over REST.',
  add_comment: 'Add comment',
  approve: 'Approve',
  approve_text:
    'All of it is applied to the working copy, or nothing. History names you and the author. Clients see it after the next deploy.',
  reject: 'Reject',
  reject_text: 'Nothing changes. The proposal stays in the list for 90 days.',
  reason: 'Comment',
  changed: 'This proposal changed while you read it',
  changed_text: 'Its author added to it. Read what it does now, then decide.',
  changed_read: 'I have read it',
  stale: 'This proposal is out of date',
  stale_text:
    'Something that it changes was changed since. Its author can bring it up to date, or you can. Then review it again: you will see what it changes now.',
  rebase: 'Bring up to date',
  rebased: 'The proposal is up to date. Review it again.',
  problem: 'This proposal cannot be applied',
  deploy: 'Deploy',
  keys: 'A approves, R rejects.',
  checking: 'Checking the proposal',
  back: 'Proposals',
  approved_toast: 'Approved. The changes are ready to deploy.',
  rejected_toast: 'Rejected. Nothing was changed.',
} as const;

export const STATUS: Readonly<Record<ProposalStatus, { readonly label: string; readonly tone: Tone }>> = {
  open: { label: 'Open', tone: 'water' },
  approved: { label: 'Approved', tone: 'good' },
  rejected: { label: 'Rejected', tone: 'plain' },
};

export const approveTitle = ({ operation_count }: Pick<ProposalItem, 'operation_count'>): string =>
  `Approve ${plural(operation_count, 'change')}?`;
