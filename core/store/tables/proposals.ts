import type { ClosedProposal, ProposalAuthor, ProposalStatus, TouchedRecord } from '#core/contract/proposals.ts';
import type { Sealed } from '#core/contract/fields.ts';
import type { Kit } from '../kit.ts';

/** Changes that tokens propose and people approve. */
export function proposalTables(k: Kit) {
  const proposals = k.table(
    'proposals',
    {
      id: k.text().primaryKey(),
      title: k.text().notNull(),
      note: k.text(),
      status: k.text().$type<ProposalStatus>().notNull(),
      author: k.json<ProposalAuthor>().notNull(),
      /** The token whose writes without a named proposal are added here. Null: none any more. */
      gathers: k.text(),
      version: k.int().notNull(),
      created_at: k.text().notNull(),
      updated_at: k.text().notNull(),
      closed_at: k.text(),
      closed_by: k.text(),
      /** The last review. It is stored when the operations are deleted. */
      closed: k.json<ClosedProposal>(),
    },
    (t) => [k.unique('proposals_gathers').on(t.gathers), k.index('proposals_status').on(t.status, t.id)],
  );
  const proposal_operations = k.table(
    'proposal_operations',
    {
      id: k.text().primaryKey(),
      proposal_id: k.text().notNull(),
      position: k.int().notNull(),
      operation: k.text().notNull(),
      /** The whole input, because any field may contain a secret. */
      input: k.json<Sealed>().notNull(),
      note: k.text(),
      summary: k.text().notNull(),
      /** The records that it changes, with their versions when it was proposed. */
      touched: k.json<TouchedRecord[]>().notNull(),
      created_at: k.text().notNull(),
    },
    (t) => [k.unique('proposal_operations_position').on(t.proposal_id, t.position)],
  );
  const proposal_comments = k.table(
    'proposal_comments',
    {
      id: k.text().primaryKey(),
      proposal_id: k.text().notNull(),
      author: k.json<ProposalAuthor>().notNull(),
      text: k.text().notNull(),
      created_at: k.text().notNull(),
    },
    (t) => [k.index('proposal_comments_proposal').on(t.proposal_id, t.id)],
  );
  return { proposals, proposal_operations, proposal_comments };
}
