import { AppError } from '#core/errors.ts';

export interface Limits {
  /** Work units: about one per evaluated node, per created list item and per 8 created characters. */
  readonly steps: number;
  /** Maximum bytes of the output in UTF-8, and maximum characters of any intermediate text. */
  readonly output: number;
  /** Maximum items of any list that a template creates. */
  readonly items: number;
  readonly milliseconds: number;
  /** Milliseconds on a clock that only moves forward. */
  readonly now: () => number;
}

/** Preview and host use the same limits. */
export const TEMPLATE_LIMITS: Limits = {
  steps: 2_000_000,
  output: 1_048_576,
  items: 100_000,
  milliseconds: 1_000,
  now: () => performance.now(),
};

/** Each method is called before work is done or memory is allocated, and throws when the budget is used up. */
export interface Budget {
  readonly limits: Limits;
  step(count: number): void;
  text(length: number): void;
  items(count: number): void;
  /** Charges for searching a text in another one, because the engine's search is not linear for every pair of texts. */
  search(text_length: number, pattern_length: number): void;
}

const STEPS_BETWEEN_CLOCK_READINGS = 4_096;

export function createBudget(limits: Limits): Budget {
  const end = limits.now() + limits.milliseconds;
  let left = limits.steps;
  let checkpoint = left;

  // In this form, a NaN ends the template too.
  function step(count: number): void {
    left -= count;
    if (!(left >= checkpoint)) inspect();
  }

  function inspect(): void {
    if (!(left >= 0)) {
      throw fault(`The template used more than ${grouped(limits.steps)} steps; loop over fewer rows or write less text.`);
    }
    if (limits.now() > end) throw fault(`The template ran for more than ${grouped(limits.milliseconds)} ms.`);
    checkpoint = Math.max(0, left - STEPS_BETWEEN_CLOCK_READINGS);
  }

  return {
    limits,
    step,
    text(length) {
      if (!(length <= limits.output)) throw fault(`The template wrote a text longer than ${grouped(limits.output)} characters.`);
      step(1 + length / 8);
    },
    items(count) {
      if (!(count <= limits.items)) throw fault(`The template created a list of more than ${grouped(limits.items)} items.`);
      step(1 + count);
    },
    search(text_length, pattern_length) {
      step(1 + text_length / 8 + (text_length * pattern_length) / 4_096);
    },
  };
}

/** An error of a running template. The renderer adds the line. */
export function fault(sentence: string): AppError {
  return new AppError('invalid', sentence);
}

const grouped = (value: number): string => String(value).replace(/\B(?=(?:\d{3})+$)/g, ' ');
