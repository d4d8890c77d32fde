import { compare, type Leaf } from './tree.ts';
import { type LeafKind, LEAF_KINDS } from '#core/contract/entities.ts';

export const leafAt = (sorted: readonly Leaf[], leaf: Leaf): Leaf | undefined =>
  sorted[firstWhere(sorted, (one) => compare(one, leaf) >= 0)];

/** The leaves of one kind, which stand together. */
export function leavesOf(sorted: readonly Leaf[], kind: LeafKind): readonly Leaf[] {
  const place = LEAF_KINDS.indexOf(kind);
  const from = firstWhere(sorted, (one) => LEAF_KINDS.indexOf(one.kind) >= place);
  const to = firstWhere(sorted, (one) => LEAF_KINDS.indexOf(one.kind) > place);
  return sorted.slice(from, to);
}

/** The first place from which on a condition holds. */
export function firstWhere<T>(list: readonly T[], holds: (item: T) => boolean): number {
  let [from, to] = [0, list.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (holds(list[middle]!)) to = middle;
    else from = middle + 1;
  }
  return from;
}
