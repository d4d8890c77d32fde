import { type Matching, type Meter, type Pattern, MAX_PATTERN_INPUT } from '#core/lib/pattern/pattern.ts';

/** Steps that the patterns of one call may take, over all its arguments and their elements; less than a second of work. */
export const MAX_STEPS = 20_000_000;
/** Characters, in UTF-16 units, that one call may have checked against patterns. */
export const MAX_CHARACTERS = 1_000_000;
/** Steps between two looks at what other callers want, some 10 ms. */
const SLICE = 200_000;

const TOO_MUCH = 'has more text than one call can check against a pattern. Send fewer or shorter values.';
const TOO_LONG = 'takes too long to check against its pattern. Send fewer or shorter values.';

/** A text whose answer is not known yet, and what is said of the argument when it does not match. */
export interface Undecided {
  readonly matching: Matching;
  readonly toFault: (fault: string) => string;
}

/** What checking the arguments of one call may still cost. */
export class Work {
  readonly #slice: Meter = { steps: SLICE };
  #characters = 0;

  /** The fault of a text, null when it has none, or the text's matching when no more of it can be done at once. */
  check(pattern: Pattern, text: string): string | null | Matching {
    if (text.length > MAX_PATTERN_INPUT) return `must have at most ${MAX_PATTERN_INPUT} characters.`;
    this.#characters += text.length;
    if (this.#characters > MAX_CHARACTERS) return TOO_MUCH;
    const matching = pattern.begin(text);
    const answer = this.#slice.steps > 0 ? matching.advance(this.#slice) : null;
    return answer === null ? matching : answer ? null : MISMATCH;
  }
}

const MISMATCH = 'does not match the required pattern.';

/** Goes on with what `Work` left, in slices between which others have their turn. @returns the first that is at fault, or null. */
export async function decide<T extends Undecided>(
  left: readonly T[],
): Promise<{ readonly one: T; readonly fault: string } | null> {
  const slice: Meter = { steps: SLICE };
  let total = MAX_STEPS - SLICE;
  for (const one of left) {
    for (;;) {
      const answer = one.matching.advance(slice);
      if (answer === false) return { one, fault: one.toFault(MISMATCH) };
      if (answer === true) break;
      total -= SLICE;
      if (total <= 0) return { one, fault: one.toFault(TOO_LONG) };
      slice.steps = SLICE;
      await new Promise((resume) => setImmediate(resume));
    }
  }
  return null;
}
