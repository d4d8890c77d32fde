import { type Matching, type Meter, type Pattern, MAX_PATTERN_INPUT } from '#core/lib/pattern/pattern.ts';

/** Maximum steps for all pattern checks of one call, arguments and elements together: less than a second of work. */
const MAX_STEPS = 20_000_000;
/** Maximum characters (UTF-16 units) that one call can check against patterns. */
const MAX_CHARACTERS = 1_000_000;
/** Steps before the check yields to other calls, about 10 ms. */
const SLICE = 200_000;

const TOO_MUCH = 'has more text than one call can check against a pattern. Send fewer or shorter values.';
const TOO_LONG = 'takes too long to check against its pattern. Send fewer or shorter values.';

/** A pattern match that isn't finished, and the error message for an argument that does not match. */
export interface Undecided {
  readonly matching: Matching;
  readonly toFault: (fault: string) => string;
}

/** The remaining budget for checking the arguments of one call. */
export class Work {
  readonly #slice: Meter = { steps: SLICE };
  #characters = 0;

  /** Returns the fault of a text, null if it matches, or the unfinished match when the first slice is used up. */
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

/** Finishes the matches that `Work` left open, yielding to other calls after each slice. @returns the first fault, or null. */
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
