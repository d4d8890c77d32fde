import { PROPOSAL_CHOICES, type ProposalItem, type ProposalStatus } from '#core/contract/proposals.ts';
import type { Tone } from '#ui/src/components/badge.tsx';
import { plural } from '#ui/src/kernel/words.ts';

export const TONES: Readonly<Record<ProposalStatus, Tone>> = { open: 'info', approved: 'good', rejected: 'plain' };

type Counted = Pick<ProposalItem, 'status' | 'taken_count' | 'operation_count'>;

export const statusLabel = ({ status, taken_count, operation_count }: Counted): string =>
  taken_count !== null && taken_count < operation_count ? 'Approved in part' : PROPOSAL_CHOICES[status].label;

/** @param taken absent: all of them. */
export const approveTitle = ({ operation_count }: Pick<ProposalItem, 'operation_count'>, taken?: number): string =>
  taken === undefined
    ? `Approve ${plural(operation_count, 'change')}?`
    : `Approve ${taken} of ${plural(operation_count, 'change')}?`;
