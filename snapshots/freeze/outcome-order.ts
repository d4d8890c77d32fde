import type { FreezeResult } from './freeze-one.ts';
import { compare } from '#snapshots/format/tree.ts';
import { firstWhere } from '#snapshots/format/order.ts';

const sortKey = ({ entity_type: kind, name }: FreezeResult) => ({ kind, name });

/** Where the first stands that comes after this one; names are compared as a tree does. */
export function insertionIndex(order: readonly FreezeResult[], outcome: FreezeResult): number {
  const placed = sortKey(outcome);
  return firstWhere(order, (one) => compare(sortKey(one), placed) > 0);
}

export function indexOf(order: readonly FreezeResult[], { id, ...outcome }: FreezeResult): number {
  const placed = sortKey({ id, ...outcome });
  let at = firstWhere(order, (one) => compare(sortKey(one), placed) >= 0);
  // While they are being renamed, two may have one name.
  while (order[at] !== undefined && order[at]?.id !== id) at++;
  return at;
}
