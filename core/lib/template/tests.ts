import { COMPARISONS } from './numbers/arithmetic.ts';
import type { CompareOperator } from './ast.ts';
import type { Budget } from './budget.ts';
import { type Operation, operations } from './operation.ts';
import { contains, isEqual, isMapping, isNone, isTruthy, numberOf } from './values.ts';

const test = (run: (value: unknown) => boolean): Operation => ({ params: [], run: (_, value) => run(value) });
const onString = (run: (text: string) => boolean): Operation => ({
  params: [],
  run(budget, value) {
    if (typeof value !== 'string') return false;
    budget.text(value.length);
    return run(value);
  },
});
const comparison = (operator: CompareOperator): Operation => ({
  params: ['other'],
  run: (budget: Budget, value, [other]) => COMPARISONS[operator](budget, value, other),
});
const parity = (rest: number): Operation => test((value) => !isNone(value) && Math.abs(numberOf(value) % 2) === rest);

const equal = comparison('==');
const not_equal = comparison('!=');
const less = comparison('<');
const less_or_equal = comparison('<=');
const greater = comparison('>');
const greater_or_equal = comparison('>=');
const none = test(isNone);

/** Tests for `is`, and for the arguments of `select`, `reject`, `selectattr` and `rejectattr`. */
export const TESTS = operations({
  defined: test((value) => value !== undefined),
  undefined: test((value) => value === undefined),
  none,
  null: none,
  boolean: test((value) => typeof value === 'boolean'),
  true: test((value) => value === true),
  false: test((value) => value === false),
  truthy: test(isTruthy),
  falsy: test((value) => !isTruthy(value)),
  number: test((value) => typeof value === 'number'),
  integer: test((value) => Number.isInteger(value)),
  float: test((value) => typeof value === 'number' && !Number.isInteger(value)),
  string: test((value) => typeof value === 'string'),
  mapping: test(isMapping),
  sequence: test((value) => Array.isArray(value) || typeof value === 'string' || isMapping(value)),
  iterable: test((value) => Array.isArray(value) || typeof value === 'string' || isMapping(value)),
  even: parity(0),
  odd: parity(1),
  divisibleby: {
    params: ['num'],
    run: (_, value, [num]) => !isNone(value) && numberOf(num) !== 0 && numberOf(value) % numberOf(num) === 0,
  },
  lower: onString((text) => text === text.toLowerCase() && text !== text.toUpperCase()),
  upper: onString((text) => text === text.toUpperCase() && text !== text.toLowerCase()),
  in: { params: ['seq'], run: (budget, value, [seq]) => contains(budget, seq, value) },
  sameas: { params: ['other'], run: (budget, value, [other]) => typeof value === typeof other && isEqual(budget, value, other) },
  eq: equal,
  equalto: equal,
  '==': equal,
  ne: not_equal,
  '!=': not_equal,
  lt: less,
  lessthan: less,
  '<': less,
  le: less_or_equal,
  '<=': less_or_equal,
  gt: greater,
  greaterthan: greater,
  '>': greater,
  ge: greater_or_equal,
  '>=': greater_or_equal,
});
