import type { Statement } from './ast.ts';
import type { Action, Run } from './closures.ts';
import { type Compiler, type Scope, UNSET } from './variables.ts';
import { type Dict, data, entriesOf, isMapping, isTruthy, itemsOf } from './values.ts';
import { fault } from './budget.ts';

type For = Extract<Statement, { type: 'for' }>;

/**
 * Compiles a `for` loop with its scope, `loop`, unpacking, a filter (`if`) that is applied before the first iteration, and `else`
 * for no iterations.
 */
export function compileLoop(compiler: Compiler, { names, list, where, body, otherwise, line }: For, outer: Scope): Action {
  const { variables } = compiler;
  const read = compiler.value(list, outer);
  const scope = variables.nested(outer);
  const slots = names.map((name) => variables.declare(scope, name, true));
  const keeps = where === null ? null : compiler.value(where, scope);
  const loop_slot = variables.declare(scope, 'loop', true);
  const first_inner = variables.count;
  const turn = compiler.block(body, scope);
  const last_inner = variables.count;
  const instead = compiler.block(otherwise, variables.nested(outer));
  const uses_loop = mentionsLoop(body);
  const assign = assigner(slots);

  return (run) => {
    const source = read(run);
    run.line = line;
    const all: readonly unknown[] =
      isMapping(source) && names.length > 1 ? entriesOf(run.budget, source) : itemsOf(run.budget, source);
    const items =
      keeps === null
        ? all
        : all.filter((item) => {
            run.budget.step(2);
            assign(run, item);
            return isTruthy(keeps(run));
          });
    if (items.length === 0) return instead(run);
    for (let index = 0; index < items.length; index++) {
      if (last_inner > first_inner) run.frame.fill(UNSET, first_inner, last_inner);
      if (uses_loop) run.frame[loop_slot] = loopState(items, index);
      assign(run, items[index]);
      turn(run);
    }
  };
}

/** Unpacks an item from a list, or from the values of an object in order. */
function assigner(slots: readonly number[]): (run: Run, item: unknown) => void {
  const [only] = slots;
  if (slots.length === 1 && only !== undefined) {
    return (run, item) => {
      run.frame[only] = data(item);
    };
  }
  return (run, item) => {
    const parts = isMapping(item) ? entriesOf(run.budget, item).map(([, value]) => value) : item;
    if (!Array.isArray(parts) || parts.length !== slots.length) {
      throw fault(`Every item must have ${slots.length} parts to be given ${slots.length} names.`);
    }
    slots.forEach((slot, index) => {
      run.frame[slot] = data(parts[index]);
    });
  };
}

function loopState(items: readonly unknown[], index: number): Dict {
  const { length } = items;
  return Object.assign(Object.create(null) as Dict, {
    index: index + 1,
    index0: index,
    first: index === 0,
    last: index === length - 1,
    length,
    revindex: length - index,
    revindex0: length - index - 1,
    previtem: data(items[index - 1]),
    nextitem: data(items[index + 1]),
  });
}

/** Searches the tree, so that a loop without `loop` has no cost for it. */
const mentionsLoop = (tree: unknown): boolean => JSON.stringify(tree).includes('"name":"loop"');
