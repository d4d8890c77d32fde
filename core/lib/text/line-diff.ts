export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** A piece of a line; `marked` when the corresponding line differs there. */
export interface Piece {
  readonly text: string;
  readonly marked: boolean;
}

/** With more parts on a side, the middle is shown as removed and added as a whole. */
const MAX_PARTS = 2_000;

/** The lines of both texts as an edit sequence (longest common subsequence). */
export const diffLines = (before: string, after: string): DiffLine[] => diffParts(before.split('\n'), after.split('\n'));

function diffParts(before: readonly string[], after: readonly string[]): DiffLine[] {
  const head = commonStart(before, after);
  const tail = commonStart(before.slice(head).toReversed(), after.slice(head).toReversed());
  const as =
    (kind: DiffLine['kind']) =>
    (text: string): DiffLine => ({ kind, text });
  return [
    ...before.slice(0, head).map(as('same')),
    ...middle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(as('same')),
  ];
}

const WORD = /\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu;
/** Lines that have less than this share in common count as different lines, not as changed ones. */
const MIN_SIMILARITY = 0.4;

/** Marks the changed parts of each line, comparing a removed line with the added line that replaces it. */
export function markWords(lines: readonly DiffLine[]): Piece[][] {
  const pieces = lines.map(({ text, kind }): Piece[] => [{ text, marked: kind !== 'same' && text.trim() === '' }]);
  for (let at = 0; at < lines.length; at += 1) {
    if (lines[at]?.kind !== 'removed') continue;
    const added = lines.findIndex(({ kind }, index) => index > at && kind !== 'removed');
    const removed = (added === -1 ? lines.length : added) - at;
    for (let offset = 0; offset < removed; offset += 1) {
      const [old, now] = [lines[at + offset], lines[at + removed + offset]];
      if (old === undefined || now?.kind !== 'added') continue;
      const parts = diffParts(old.text.match(WORD) ?? [], now.text.match(WORD) ?? []);
      const same = parts.reduce((sum, { kind, text }) => sum + (kind === 'same' ? text.length : 0), 0);
      if (same < MIN_SIMILARITY * Math.max(old.text.length, now.text.length)) continue;
      pieces[at + offset] = sideOf(parts, 'removed');
      pieces[at + removed + offset] = sideOf(parts, 'added');
    }
    at += removed - 1;
  }
  return pieces;
}

const sideOf = (parts: readonly DiffLine[], side: 'removed' | 'added'): Piece[] =>
  parts.filter(({ kind }) => kind === 'same' || kind === side).map(({ kind, text }) => ({ text, marked: kind === side }));

function middle(before: readonly string[], after: readonly string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: 'removed', text });
  const added = (text: string): DiffLine => ({ kind: 'added', text });
  if (before.length * after.length > MAX_PARTS ** 2 || before.length === 0 || after.length === 0) {
    return [...before.map(removed), ...after.map(added)];
  }
  const width = after.length + 1;
  const common = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      common[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({ kind: 'same', text: before[i] ?? '' });
      i++;
      j++;
    } else if (i < before.length && (j === after.length || at(i + 1, j) >= at(i, j + 1))) lines.push(removed(before[i++] ?? ''));
    else lines.push(added(after[j++] ?? ''));
  }
  return lines;
}

function commonStart(one: readonly string[], other: readonly string[]): number {
  const most = Math.min(one.length, other.length);
  let count = 0;
  while (count < most && one[count] === other[count]) count++;
  return count;
}

/** The changed lines with `around` equal lines beside them; a number replaces the lines omitted in between. */
export function foldSame<L extends { readonly kind: DiffLine['kind'] }>(
  lines: readonly L[],
  around = 3,
): (L | { readonly kind: 'fold'; readonly count: number })[] {
  const near = lines.map((_, index) =>
    lines.slice(Math.max(0, index - around), index + around + 1).some(({ kind }) => kind !== 'same'),
  );
  const folded: (L | { kind: 'fold'; count: number })[] = [];
  let count = 0;
  for (const [index, line] of lines.entries()) {
    if (!near[index]) count += 1;
    if (count > 0 && (near[index] || index === lines.length - 1)) folded.push({ kind: 'fold', count });
    if (!near[index]) continue;
    count = 0;
    folded.push(line);
  }
  return folded;
}
