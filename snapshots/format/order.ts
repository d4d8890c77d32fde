import { compare, type Leaf } from './tree.ts';
import { type LeafKind, LEAF_KINDS } from '#core/contract/entities.ts';

export const leafAt = (sorted: readonly Leaf[], leaf: Leaf): Leaf | undefined =>
  sorted[firstWhere(sorted, (one) => compare(one, leaf) >= 0)];

/** The leaves of one kind, which are contiguous. */
export function leavesOf(sorted: readonly Leaf[], kind: LeafKind): readonly Leaf[] {
  const rank = LEAF_KINDS.indexOf(kind);
  const from = firstWhere(sorted, (one) => LEAF_KINDS.indexOf(one.kind) >= rank);
  const to = firstWhere(sorted, (one) => LEAF_KINDS.indexOf(one.kind) > rank);
  return sorted.slice(from, to);
}

/** Binary search: the first index at which `holds` is true. */
export function firstWhere<T>(list: readonly T[], holds: (item: T) => boolean): number {
  let [from, to] = [0, list.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (holds(list[middle]!)) to = middle;
    else from = middle + 1;
  }
  return from;
}
