import { AppError } from '#core/errors.ts';
import { ARITHMETIC, COMPARISONS } from './numbers/arithmetic.ts';
import type { Expression } from './ast.ts';
import { comparison, fold, junction, slice, type Value } from './closures.ts';
import type { Compiler, Scope } from './variables.ts';
import { FILTERS, METHODS } from './filters/filters.ts';
import { FUNCTIONS } from './functions.ts';
import { TESTS } from './tests.ts';
import { contains, data, emptyDict, get, isDenied, isNone, isTruthy, numberOf, put, textOf } from './values.ts';

type Expressions = {
  readonly [Type in Expression['type']]: (node: Expression & { readonly type: Type }, scope: Scope, compiler: Compiler) => Value;
};

const OPERATIONS = { filter: FILTERS, test: TESTS, method: METHODS };

function operation(
  { type, name, value, args, line }: Expression & { readonly type: 'filter' | 'test' | 'method' },
  scope: Scope,
  compiler: Compiler,
): Value {
  const known = OPERATIONS[type].get(name);
  if (known === undefined) throw new AppError('invalid', `There is no ${type} with that name in templates.`);
  const target = compiler.value(value, scope);
  const readers = args.map((arg) => (arg === null ? () => undefined : compiler.value(arg, scope)));
  return (run) => {
    const input = target(run);
    const given = readers.map((read) => read(run));
    run.line = line;
    return data(known.run(run.budget, input, given));
  };
}

/** Compiles each kind of expression to a closure. */
export const EXPRESSIONS: Expressions = {
  literal:
    ({ value }) =>
    () =>
      value,

  name: ({ name }, scope, { variables }) => variables.reader(scope, name),

  get({ target, key }, scope, compiler) {
    const from = compiler.value(target, scope);
    const read = compiler.value(key, scope);
    if (key.type !== 'literal' || typeof key.value !== 'string') return (run) => get(run.budget, from(run), read(run));
    const name = key.value;
    return isDenied(name) ? () => undefined : (run) => get(run.budget, from(run), name);
  },

  slice({ target, bounds, line }, scope, compiler) {
    const from = compiler.value(target, scope);
    return slice(
      from,
      bounds.map((bound) => (bound === null ? null : compiler.value(bound, scope))),
      line,
    );
  },

  list({ items }, scope, compiler) {
    const readers = items.map((item) => compiler.value(item, scope));
    return (run) => readers.map((read) => read(run));
  },

  dict({ entries, line }, scope, compiler) {
    const readers = entries.map(([key, item]) => [compiler.value(key, scope), compiler.value(item, scope)] as const);
    return (run) => {
      const dict = emptyDict();
      for (const [key, item] of readers) {
        const name = textOf(run.budget, key(run));
        const value = item(run);
        run.line = line;
        put(dict, name, value);
      }
      return dict;
    };
  },

  chain: ({ first, rest, line }, scope, compiler) =>
    fold(
      compiler.value(first, scope),
      rest.map(({ op, value }) => [ARITHMETIC[op], compiler.value(value, scope)]),
      line,
    ),

  compare: ({ first, rest, line }, scope, compiler) =>
    comparison(
      compiler.value(first, scope),
      rest.map(({ op, value }) => [COMPARISONS[op], compiler.value(value, scope)]),
      line,
    ),

  and: ({ items }, scope, compiler) =>
    junction(
      items.map((item) => compiler.value(item, scope)),
      false,
    ),

  or: ({ items }, scope, compiler) =>
    junction(
      items.map((item) => compiler.value(item, scope)),
      true,
    ),

  not({ value }, scope, compiler) {
    const read = compiler.value(value, scope);
    return (run) => !isTruthy(read(run));
  },

  sign({ negative, value, line }, scope, compiler) {
    const read = compiler.value(value, scope);
    return (run) => {
      const result = read(run);
      run.line = line;
      return isNone(result) ? null : negative ? -numberOf(result) : numberOf(result);
    };
  },

  in({ item, list, line }, scope, compiler) {
    const member = compiler.value(item, scope);
    const within = compiler.value(list, scope);
    return (run) => {
      const value = member(run);
      const container = within(run);
      run.line = line;
      return contains(run.budget, container, value);
    };
  },

  choice({ test, yes, no }, scope, compiler) {
    const condition = compiler.value(test, scope);
    const then = compiler.value(yes, scope);
    const otherwise = no === null ? () => undefined : compiler.value(no, scope);
    return (run) => (isTruthy(condition(run)) ? then(run) : otherwise(run));
  },

  filter: operation,
  test: operation,
  method: operation,

  call({ name, args, named, line }, scope, compiler) {
    const known = FUNCTIONS.get(name);
    if (known === undefined) throw new AppError('invalid', 'There is no function with that name in templates.');
    const places = args.map((arg) => compiler.value(arg, scope));
    const by_name = named.map(([key, value]) => [key, compiler.value(value, scope)] as const);
    return (run) => {
      const given = places.map((read) => read(run));
      const given_by_name = by_name.map(([key, read]) => [key, read(run)] as const);
      run.line = line;
      return known.run(run.budget, given, given_by_name);
    };
  },

  capture({ body }, scope, compiler) {
    const write = compiler.block(body, compiler.variables.nested(scope));
    return (run) => {
      const outer = run.out;
      run.out = '';
      write(run);
      const text = run.out;
      run.out = outer;
      return text;
    };
  },
};
