import type { Proposal, ProposalOperation } from '#core/contract/proposals.ts';

type Operations = readonly ProposalOperation[];

/** What a reviewer leaves out after an operation is taken or left: what needs it goes with it, what it needs comes with it. */
export function leave(
  operations: Operations,
  left: ReadonlySet<number>,
  position: number,
  is_taken: boolean,
): ReadonlySet<number> {
  const next = new Set(left);
  const take = (at: number): void => {
    next.delete(at);
    for (const needed of operations.find((one) => one.position === at)?.needs ?? []) if (next.has(needed)) take(needed);
  };
  const drop = (at: number): void => {
    next.add(at);
    for (const one of operations) if (one.needs?.includes(at) === true && !next.has(one.position)) drop(one.position);
  };
  if (is_taken) take(position);
  else drop(position);
  return next;
}

export const takenOf = (operations: Operations, left: ReadonlySet<number>): Operations =>
  operations.filter(({ position }) => !left.has(position));

/** Records that changed since and that the taken operations touch. */
export const staleOf = ({ operations, stale }: Proposal, left: ReadonlySet<number>): Proposal['stale'] =>
  stale.filter(({ entity_type, entity_name }) =>
    takenOf(operations, left).some(({ touched }) =>
      touched.some((record) => record.entity_type === entity_type && record.entity_name === entity_name),
    ),
  );
