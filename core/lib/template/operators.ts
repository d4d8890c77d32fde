import type { ArithmeticOperator, CompareOperator } from './ast.ts';
import { FILTERS } from './filters/filters.ts';
import type { Operations } from './operation.ts';
import { TESTS } from './tests.ts';

/** Constants that nunjucks reads as variables. */
export const CONSTANTS = new Map<unknown, boolean | null>([
  ['True', true],
  ['False', false],
  ['None', null],
]);

/** Operators by precedence. Nunjucks nests them by operator, Jinja2 evaluates them from left to right. */
export const LEVELS: readonly Readonly<Record<string, ArithmeticOperator>>[] = [
  { Add: '+', Sub: '-' },
  { Mul: '*', Div: '/', FloorDiv: '//', Mod: '%' },
  { Pow: '**' },
  { Concat: '~' },
];
export const COMPARE: Readonly<Record<string, CompareOperator>> = {
  '==': '==',
  '===': '==',
  '!=': '!=',
  '!==': '!=',
  '<': '<',
  '>': '>',
  '<=': '<=',
  '>=': '>=',
};

/** Filters with the name of another operation as an argument, and the index of that argument. */
export const INNER: Readonly<Record<string, { kind: string; table: Operations; index: number }>> = {
  map: { kind: 'filter', table: FILTERS, index: 0 },
  select: { kind: 'test', table: TESTS, index: 0 },
  reject: { kind: 'test', table: TESTS, index: 0 },
  selectattr: { kind: 'test', table: TESTS, index: 1 },
  rejectattr: { kind: 'test', table: TESTS, index: 1 },
};
