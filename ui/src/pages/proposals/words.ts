import type { ProposalItem, ProposalStatus } from '#core/contract/proposals.ts';
import type { Tone } from '#ui/src/components/badge.tsx';
import { plural } from '#ui/src/kernel/words.ts';

export const STATUS: Readonly<Record<ProposalStatus, { readonly label: string; readonly tone: Tone }>> = {
  open: { label: 'Open', tone: 'info' },
  approved: { label: 'Approved', tone: 'good' },
  rejected: { label: 'Rejected', tone: 'plain' },
};

export const approveTitle = ({ operation_count }: Pick<ProposalItem, 'operation_count'>): string =>
  `Approve ${plural(operation_count, 'change')}?`;
