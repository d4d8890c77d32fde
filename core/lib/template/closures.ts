import { sliceOf } from './characters.ts';
import { AppError } from '#core/errors.ts';
import { type Budget, fault } from './budget.ts';
import { isNone, isTruthy, kindOf, numberOf } from './values.ts';

/** The state of one evaluation. */
export interface Run {
  readonly budget: Budget;
  /** Variables of the template by slot. `UNSET` while unassigned. */
  readonly frame: unknown[];
  /** Values of external variables, in the order of `Program.free`. */
  readonly given: readonly unknown[];
  out: string;
  /** The line to report with an error. */
  line: number;
}

/** An expression, ready to be evaluated any number of times. */
export type Value = (run: Run) => unknown;
/** A statement, ready to run. */
export type Action = (run: Run) => void;

export function emit(run: Run, text: string): void {
  run.budget.text(text.length);
  run.out += text;
  if (run.out.length > run.budget.limits.output) throw tooLong();
}

export const tooLong = (): AppError => new AppError('invalid', 'The template wrote more than 1 MiB of output.');

export type Binary<Result> = readonly [apply: (budget: Budget, a: unknown, b: unknown) => Result, right: Value];

export function fold(first: Value, rest: readonly Binary<unknown>[], line: number): Value {
  return (run) => {
    let result = first(run);
    for (const [apply, right] of rest) {
      const operand = right(run);
      run.line = line;
      result = apply(run.budget, result, operand);
    }
    return result;
  };
}

/** `a < b < c` means `a < b and b < c`, as in Python. */
export function comparison(first: Value, rest: readonly Binary<boolean>[], line: number): Value {
  return (run) => {
    let left = first(run);
    for (const [holds, right] of rest) {
      const operand = right(run);
      run.line = line;
      if (!holds(run.budget, left, operand)) return false;
      left = operand;
    }
    return true;
  };
}

/** The first item that determines the result, not converted to a boolean. */
export function junction(items: readonly Value[], decides: boolean): Value {
  return (run) => {
    let result: unknown;
    for (const item of items) {
      result = item(run);
      if (isTruthy(result) === decides) return result;
    }
    return result;
  };
}

export function slice(target: Value, bounds: readonly (Value | null)[], line: number): Value {
  return (run) => {
    const whole = target(run);
    const [start, stop, step = null] = bounds.map((bound) => {
      const given = bound?.(run);
      return isNone(given) ? null : Math.trunc(numberOf(given));
    });
    run.line = line;
    if (step !== null && step !== 1) throw fault('A slice can only have step 1; the filter reverse reverses a list.');
    if (isNone(whole)) return whole;
    if (typeof whole !== 'string' && !Array.isArray(whole)) throw fault(`A slice cannot be taken of ${kindOf(whole)}.`);
    const from = start ?? 0;
    const to = stop ?? whole.length;
    if (typeof whole === 'string') return sliceOf(run.budget, whole, from, stop ?? undefined);
    run.budget.items(whole.length);
    return whole.slice(from, to);
  };
}
