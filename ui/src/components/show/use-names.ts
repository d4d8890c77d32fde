import type { RecordKind } from '#ui/src/fields/differences/lines.ts';
import { useQuery } from '#ui/src/components/use-query.ts';
import { allOf } from '#ui/src/kernel/data/all-of.ts';

const NAMES_PAGE = 500;

interface Named {
  readonly items: readonly { readonly id: string; readonly name: string; readonly version: number }[];
}

/**
 * The names of all records of a kind. All of them, because an id may belong to a deleted or a proposed record, which cannot be fetched.
 */
export const useNames = (kind: RecordKind | 'toolset') =>
  useQuery((read): Promise<Named> => {
    const page = <T extends Named['items'][number]>(
      list: (skip: number, limit: number) => Promise<{ items: T[]; total: number }>,
    ) => allOf(list, NAMES_PAGE);
    if (kind === 'tool') return page((skip, limit) => read('tools.list', { skip, limit }));
    if (kind === 'resource') return page((skip, limit) => read('resources.list', { skip, limit }));
    if (kind === 'prompt') return page((skip, limit) => read('prompts.list', { skip, limit }));
    if (kind === 'toolset') return page((skip, limit) => read('toolsets.list', { skip, limit }));
    return page((skip, limit) => read('connections.list', { skip, limit }));
  });
