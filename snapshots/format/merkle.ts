import { createHash } from 'node:crypto';

/** The Merkle tree of RFC 6962, section 2.1, and proofs for any part of its leaves. */

const sha256 = (...parts: readonly Uint8Array[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

export const leafHash = (text: string): Buffer => sha256(LEAF, Buffer.from(text));

/** @param leaves hashes of the leaves. */
export const merkleRoot = (leaves: readonly Buffer[]): Buffer => subtree(leaves, 0, leaves.length);

function subtree(leaves: readonly Buffer[], from: number, to: number): Buffer {
  if (to === from) return sha256();
  if (to - from === 1) return leaves[from] ?? sha256();
  const middle = from + splitOf(to - from);
  return sha256(NODE, subtree(leaves, from, middle), subtree(leaves, middle, to));
}

/** The largest power of two below the size. */
function splitOf(size: number): number {
  let split = 1;
  while (split * 2 < size) split *= 2;
  return split;
}

/** The hashes with which the root follows from the shown leaves alone, from left to right. */
export function hiddenHashes(leaves: readonly Buffer[], isShown: (index: number) => boolean): Buffer[] {
  const found: Buffer[] = [];
  const visit = (from: number, to: number): void => {
    let any = false;
    for (let n = from; n < to && !any; n++) any = isShown(n);
    if (!any) found.push(subtree(leaves, from, to));
    else if (to - from > 1) {
      const middle = from + splitOf(to - from);
      visit(from, middle);
      visit(middle, to);
    }
  };
  if (leaves.length > 0) visit(0, leaves.length);
  return found;
}

/**
 * The root that follows from some leaves and the hashes of the others. Null: they do not fit together.
 * @param size number of all leaves. @param at indexes of the shown leaves, ascending.
 */
export function rootOf(size: number, at: readonly number[], shown: readonly Buffer[], hidden: readonly Buffer[]): Buffer | null {
  if (at.length !== shown.length || size > 2 ** 31) return null;
  if (at.some((index, n) => !Number.isInteger(index) || index < 0 || index >= size || index <= (at[n - 1] ?? -1))) return null;
  if (size === 0) return hidden.length === 0 ? sha256() : null;
  let next_shown = 0;
  let next_hidden = 0;
  let fits = true;
  const visit = (from: number, to: number): Buffer => {
    const index = at[next_shown];
    if (index === undefined || index >= to) {
      const hash = hidden[next_hidden++];
      fits &&= hash !== undefined;
      return hash ?? sha256();
    }
    if (to - from === 1) return shown[next_shown++] ?? sha256();
    const middle = from + splitOf(to - from);
    const left = visit(from, middle);
    return sha256(NODE, left, visit(middle, to));
  };
  const root = visit(0, size);
  return fits && next_hidden === hidden.length && next_shown === shown.length ? root : null;
}
