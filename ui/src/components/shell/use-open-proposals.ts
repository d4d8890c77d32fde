import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';

/** How many proposals wait for a review; 0 where the person may not read them. */
export function useOpenProposals(): () => number {
  const { session } = useKernel();
  const open = useQuery(async (read) =>
    session.may('proposals.list') ? (await read('proposals.list', { state: 'open', limit: 1 })).open : 0,
  );
  return () => open.data() ?? 0;
}
