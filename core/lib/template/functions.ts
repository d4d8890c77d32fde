import { type Budget, fault } from './budget.ts';
import { createNamespace, type Dict, emptyDict, put } from './values.ts';
import { whole } from './operation.ts';

export interface TemplateFunction {
  /** Number of positional arguments. */
  readonly places: readonly [minimum: number, maximum: number];
  /** Whether named arguments are allowed. */
  readonly named: boolean;
  readonly run: (budget: Budget, args: readonly unknown[], named: readonly (readonly [string, unknown])[]) => unknown;
}

/** All functions that a template can call, by name. */
export const FUNCTIONS: ReadonlyMap<string, TemplateFunction> = new Map<string, TemplateFunction>([
  ['range', { places: [1, 3], named: false, run: range }],
  ['dict', { places: [0, 0], named: true, run: (_, __, named) => filled(emptyDict(), named) }],
  ['namespace', { places: [0, 0], named: true, run: (_, __, named) => filled(createNamespace(), named) }],
]);

function range(budget: Budget, args: readonly unknown[]): number[] {
  const limit = Number.MAX_SAFE_INTEGER;
  const [first, second, third] = args.map((value) => whole(value, 0, 'range', -limit, limit));
  const start = second === undefined ? 0 : (first ?? 0);
  const stop = second ?? first ?? 0;
  const step = third ?? 1;
  if (step === 0) throw fault('The step of a range must not be 0.');
  const length = Math.max(0, Math.ceil((stop - start) / step));
  budget.items(length);
  return Array.from({ length }, (_, index) => start + index * step);
}

function filled(dict: Dict, named: readonly (readonly [string, unknown])[]): Dict {
  for (const [name, value] of named) put(dict, name, value);
  return dict;
}
