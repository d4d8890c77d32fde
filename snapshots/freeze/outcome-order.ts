import type { Outcome } from './freeze-one.ts';
import { compare } from '#snapshots/format/tree.ts';
import { firstWhere } from '#snapshots/format/order.ts';

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
