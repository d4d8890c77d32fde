import type { ArithmeticOperator, CompareOperator } from '../ast.ts';
import { type Budget, fault } from '../budget.ts';
import { printf } from '../filters/format.ts';
import { compare, isEqual, isNone, isNumeric, kindOf, numberOf, textOf } from '../values.ts';

type Binary<Result> = (budget: Budget, a: unknown, b: unknown) => Result;

/** Arithmetic operators. If an operand is none, the result is none, as in SQL. */
export const ARITHMETIC: Readonly<Record<ArithmeticOperator, Binary<unknown>>> = {
  '+': add,
  '-': (_, a, b) => numeric(a, b, (x, y) => x - y),
  '*': multiply,
  '/': (_, a, b) => numeric(a, b, (x, y) => x / divisor(y)),
  '//': (_, a, b) => numeric(a, b, (x, y) => Math.floor(x / divisor(y))),
  '%': remainder,
  '**': (_, a, b) => numeric(a, b, (x, y) => x ** y),
  '~': concatenate,
};

export const COMPARISONS: Readonly<Record<CompareOperator, Binary<boolean>>> = {
  '==': isEqual,
  '!=': (budget, a, b) => !isEqual(budget, a, b),
  '<': (budget, a, b) => (compare(budget, a, b) ?? 0) < 0,
  '>': (budget, a, b) => (compare(budget, a, b) ?? 0) > 0,
  '<=': (budget, a, b) => (compare(budget, a, b) ?? 1) <= 0,
  '>=': (budget, a, b) => (compare(budget, a, b) ?? -1) >= 0,
};

function numeric(a: unknown, b: unknown, compute: (x: number, y: number) => number): number | null {
  if (isNone(a) || isNone(b)) return null;
  const result = compute(numberOf(a), numberOf(b));
  if (!Number.isFinite(result)) throw fault('A calculation did not return a finite number.');
  return result;
}

function divisor(value: number): number {
  if (value === 0) throw fault('A number was divided by zero; test the divisor first.');
  return value;
}

/** Concatenates two texts or two lists. A text with a number is added to a number. */
function add(budget: Budget, a: unknown, b: unknown): unknown {
  if (typeof a === 'string' && typeof b === 'string') return concatenate(budget, a, b);
  if (Array.isArray(a) && Array.isArray(b)) {
    budget.items(a.length + b.length);
    return [...a, ...b];
  }
  if ((typeof a === 'string' && !isNone(b) && !isNumeric(a)) || (typeof b === 'string' && !isNone(a) && !isNumeric(b))) {
    throw fault(`"+" cannot join ${kindOf(a)} and ${kindOf(b)}; "~" joins anything as text.`);
  }
  return numeric(a, b, (x, y) => x + y);
}

/** `'-' * 20` repeats a text that is not a number. */
function multiply(budget: Budget, a: unknown, b: unknown): unknown {
  if (typeof a !== 'string' || typeof b !== 'number' || isNumeric(a)) return numeric(a, b, (x, y) => x * y);
  const count = Math.max(0, Math.trunc(b));
  budget.text(a.length * count);
  return a.repeat(count);
}

/** The result has the sign of the divisor, as in Python. A format text on the left is formatted, as by the filter `format`. */
function remainder(budget: Budget, a: unknown, b: unknown): unknown {
  if (typeof a === 'string' && a.includes('%')) return printf(budget, a, Array.isArray(b) ? b : [b]);
  return numeric(a, b, (x, y) => {
    const rest = x % divisor(y);
    return rest !== 0 && rest < 0 !== y < 0 ? rest + y : rest;
  });
}

function concatenate(budget: Budget, a: unknown, b: unknown): string {
  const left = textOf(budget, a);
  const right = textOf(budget, b);
  budget.text(left.length + right.length);
  return left + right;
}
