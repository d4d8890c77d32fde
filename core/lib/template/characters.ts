import type { Budget } from './budget.ts';

/**
 * Counts code points, because JavaScript counts characters beyond U+FFFF as two, and half of one is not valid text. Nearly all
 * texts have no such characters, so JavaScript's count is correct for them.
 */
const HALF = /[\ud800-\udfff]/;

export function lengthOf(budget: Budget, text: string): number {
  budget.step(text.length / 64);
  if (!HALF.test(text)) return text.length;
  budget.step(text.length / 8);
  let count = 0;
  for (let at = 0; at < text.length; at += widthAt(text, at)) count++;
  return count;
}

/** Like `slice` of a text: a negative index counts from the end. */
export function sliceOf(budget: Budget, text: string, from: number, to = Number.POSITIVE_INFINITY): string {
  budget.step(text.length / 64);
  if (!HALF.test(text)) return text.slice(from, to);
  return text.slice(offsetOf(budget, text, from), offsetOf(budget, text, to));
}

/** A negative index counts from the end. Undefined when there is no such character. */
export function characterAt(budget: Budget, text: string, index: number): string | undefined {
  budget.step(text.length / 64);
  if (!HALF.test(text)) return text[index < 0 ? text.length + index : index];
  const position = index < 0 ? lengthOf(budget, text) + index : index;
  if (position < 0) return undefined;
  const at = offsetOf(budget, text, position);
  return at < text.length ? text.slice(at, at + widthAt(text, at)) : undefined;
}

/** Parts of `width` characters. The last one may be shorter. */
export function* partsOf(budget: Budget, text: string, width: number): Generator<string> {
  budget.step(text.length / 8);
  const has_pairs = HALF.test(text);
  for (let from = 0; from < text.length;) {
    let to = from + width;
    if (has_pairs) {
      to = from;
      for (let left = width; left > 0 && to < text.length; left--) to += widthAt(text, to);
    }
    yield text.slice(from, to);
    from = to;
  }
}

/** The character that starts at an index, and the one that ends before it. */
export const firstAt = (text: string, from: number): string => text.slice(from, from + widthAt(text, from));
export const lastBefore = (text: string, to: number): string => {
  const pair = text.slice(Math.max(0, to - 2), to);
  return widthAt(pair, 0) === 2 ? pair : text.slice(Math.max(0, to - 1), to);
};

function offsetOf(budget: Budget, text: string, position: number): number {
  budget.step(text.length / 8);
  let left = position < 0 ? lengthOf(budget, text) + position : position;
  let at = 0;
  for (; left > 0 && at < text.length; left--) at += widthAt(text, at);
  return at;
}

const widthAt = (text: string, at: number): number => ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
