import { subjectOf } from '#core/contract/entities.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import type { Leaf, Tree } from '#snapshots/format/tree.ts';
import type { GateSubject } from '../gates/gate.ts';

const CALLER = 'caller.';
/** Texts in memory at a time. */
const BATCH_SIZE = 200;
const MAX_NAMES = 5;

interface ReadsCaller {
  readonly parameters?: readonly { readonly from?: string }[];
  readonly session_values?: readonly { readonly from: string }[];
  readonly session_role?: { readonly from: string } | null;
}

/** Names of definitions and connections that read values of the caller, for a sentence; null when there are none. */
export async function callerReaders(tree: Tree, texts: GateSubject['texts']): Promise<string | null> {
  const found: string[] = [];
  for (const kind of ['connection', 'tool', 'resource'] as const) {
    const leaves: readonly Leaf[] = leavesOf(tree.leaves, kind);
    for (let start = 0; start < leaves.length; start += BATCH_SIZE) {
      const some = leaves.slice(start, start + BATCH_SIZE);
      const read = await texts(some);
      for (const { name, hash } of some) {
        const text = read.get(hash) ?? '';
        // Few texts contain it, so most need no parsing.
        if (text.includes(`"${CALLER}`) && readsCaller(JSON.parse(text) as ReadsCaller)) found.push(subjectOf(kind, name));
      }
    }
  }
  if (found.length === 0) return null;
  const more = found.length - MAX_NAMES;
  return `${found.slice(0, MAX_NAMES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

const readsCaller = ({ parameters = [], session_values = [], session_role = null }: ReadsCaller): boolean =>
  [...parameters, ...session_values, ...(session_role === null ? [] : [session_role])].some(
    ({ from }) => from?.startsWith(CALLER) === true,
  );
