import type { Outcome } from './freeze-one.ts';
import { compare, type Leaf } from './tree.ts';
import { type Kind, KINDS } from '#core/contract/entities.ts';

const toPlace = ({ entity_type: kind, name }: Outcome) => ({ kind, name });

/** Where the first stands that comes after this one; names are compared as a tree does. */
export function placeAfter(order: readonly Outcome[], outcome: Outcome): number {
  const placed = toPlace(outcome);
  return firstWhere(order, (one) => compare(toPlace(one), placed) > 0);
}

export function placeOf(order: readonly Outcome[], { id, ...outcome }: Outcome): number {
  const placed = toPlace({ id, ...outcome });
  let at = firstWhere(order, (one) => compare(toPlace(one), placed) >= 0);
  // While they are being renamed, two may have one name.
  while (order[at] !== undefined && order[at]?.id !== id) at++;
  return at;
}

export const leafAt = (sorted: readonly Leaf[], leaf: Leaf): Leaf | undefined =>
  sorted[firstWhere(sorted, (one) => compare(one, leaf) >= 0)];

/** The leaves of one kind, which stand together. */
export function leavesOf(sorted: readonly Leaf[], kind: Kind): readonly Leaf[] {
  const place = KINDS.indexOf(kind);
  const from = firstWhere(sorted, (one) => KINDS.indexOf(one.kind) >= place);
  const to = firstWhere(sorted, (one) => KINDS.indexOf(one.kind) > place);
  return sorted.slice(from, to);
}

/** The first place from which on a condition holds. */
function firstWhere<T>(list: readonly T[], holds: (item: T) => boolean): number {
  let [from, to] = [0, list.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (holds(list[middle]!)) to = middle;
    else from = middle + 1;
  }
  return from;
}
