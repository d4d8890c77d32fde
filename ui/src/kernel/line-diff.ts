export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** Beyond this many lines on a side the middle is shown as removed and added as a whole. */
const MOST_LINES = 2_000;

/** The lines of both texts, in the order in which one becomes the other (longest common subsequence). */
export function diffLines(before: string, after: string): DiffLine[] {
  const old_lines = before.split('\n');
  const new_lines = after.split('\n');
  const head = commonStart(old_lines, new_lines);
  const tail = commonStart(old_lines.slice(head).toReversed(), new_lines.slice(head).toReversed());
  const as =
    (kind: DiffLine['kind']) =>
    (text: string): DiffLine => ({ kind, text });
  return [
    ...old_lines.slice(0, head).map(as('same')),
    ...middle(old_lines.slice(head, old_lines.length - tail), new_lines.slice(head, new_lines.length - tail)),
    ...old_lines.slice(old_lines.length - tail).map(as('same')),
  ];
}

function middle(before: readonly string[], after: readonly string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: 'removed', text });
  const added = (text: string): DiffLine => ({ kind: 'added', text });
  if (before.length * after.length > MOST_LINES ** 2 || before.length === 0 || after.length === 0) {
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

/** The changed lines with `around` equal ones beside them; what is left out between is a number. */
export function foldSame(
  lines: readonly DiffLine[],
  around = 3,
): (DiffLine | { readonly kind: 'fold'; readonly count: number })[] {
  const near = lines.map((_, index) =>
    lines.slice(Math.max(0, index - around), index + around + 1).some(({ kind }) => kind !== 'same'),
  );
  const folded: (DiffLine | { kind: 'fold'; count: number })[] = [];
  for (const [index, line] of lines.entries()) {
    const last = folded.at(-1);
    if (near[index]) folded.push(line);
    else if (last?.kind === 'fold') last.count += 1;
    else folded.push({ kind: 'fold', count: 1 });
  }
  return folded;
}
