import type { ArithmeticOperator, CompareOperator } from './ast.ts';
import { FILTERS } from './filters/filters.ts';
import type { Operations } from './operation.ts';
import { TESTS } from './tests.ts';

/** Names that nunjucks reads as variables. */
export const CONSTANTS = new Map<unknown, boolean | null>([
  ['True', true],
  ['False', false],
  ['None', null],
]);

/** Operators of one precedence: nunjucks nests them by kind, Jinja2 reads them from left to right. */
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

/** Filters that take the name of another operation, and where it stands among their arguments. */
export const INNER: Readonly<Record<string, { kind: string; table: Operations; place: number }>> = {
  map: { kind: 'filter', table: FILTERS, place: 0 },
  select: { kind: 'test', table: TESTS, place: 0 },
  reject: { kind: 'test', table: TESTS, place: 0 },
  selectattr: { kind: 'test', table: TESTS, place: 1 },
  rejectattr: { kind: 'test', table: TESTS, place: 1 },
};
