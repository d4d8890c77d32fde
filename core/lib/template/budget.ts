import { AppError } from '#core/errors.ts';

export interface Limits {
  /** Work units: about one for each node evaluated, each list item made and each 8 characters made. */
  readonly steps: number;
  /** Bytes of UTF-8 that a template may return, and characters of any text on the way. */
  readonly output: number;
  /** Items of any list that a template makes. */
  readonly items: number;
  readonly milliseconds: number;
  /** Milliseconds on a clock that only moves forward. */
  readonly now: () => number;
}

/** The same in preview and in the host (contract section 6). */
export const TEMPLATE_LIMITS: Limits = {
  steps: 2_000_000,
  output: 1_048_576,
  items: 100_000,
  milliseconds: 1_000,
  now: () => performance.now(),
};

/** Each call is a charge made before the work is done or the memory taken; it throws when the template has had enough. */
export interface Budget {
  readonly limits: Limits;
  step(count: number): void;
  text(length: number): void;
  items(count: number): void;
  /** Looking for one text in another: the engine's search is not linear for every pair of texts. */
  search(text_length: number, wanted_length: number): void;
}

const STEPS_BETWEEN_CLOCK_READINGS = 4_096;

export function createBudget(limits: Limits): Budget {
  const end = limits.now() + limits.milliseconds;
  let left = limits.steps;
  let checkpoint = left;

  // Written so that a count that is not a number ends the template too.
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
    search(text_length, wanted_length) {
      step(1 + text_length / 8 + (text_length * wanted_length) / 4_096);
    },
  };
}

/** A failure of a template while it runs; the renderer adds the line. */
export function fault(sentence: string): AppError {
  return new AppError('invalid', sentence);
}

const grouped = (value: number): string => String(value).replace(/\B(?=(?:\d{3})+$)/g, ' ');
