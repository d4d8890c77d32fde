import type { Expression, Statement } from './ast.ts';
import type { Action, Value, Run } from './closures.ts';

export interface Compiler {
  readonly variables: Variables;
  value(expression: Expression, scope: Scope): Value;
  sequence(statements: readonly Statement[], scope: Scope): Action;
  /** A sequence with a charge for all its nodes at once; the loops in it charge for their own. */
  block(statements: readonly Statement[], scope: Scope): Action;
}

/** What stands in a slot until something is assigned; no expression can yield it. */
export const UNSET: unique symbol = Symbol('unset');

export interface Scope {
  readonly slots: Map<string, number>;
  /** Names that always have a value here, such as those of a loop. */
  readonly certain: Set<string>;
  readonly outer: Scope | null;
}

/**
 * Gives every name its slot at compile time. Loops have scopes of their own, as in Jinja2; since a scope is entered anew
 * each time, a name can only be read after the place that sets it.
 */
export class Variables {
  count = 0;
  /** Names that may come from outside, with their place among them. */
  readonly free = new Map<string, number>();
  /** Those of them that nothing in the template sets. */
  readonly unset = new Set<string>();
  readonly global: Scope = { slots: new Map(), certain: new Set(), outer: null };

  nested(outer: Scope): Scope {
    return { slots: new Map(), certain: new Set(), outer };
  }

  declare(scope: Scope, name: string, certain = false): number {
    const slot = scope.slots.get(name) ?? this.count++;
    scope.slots.set(name, slot);
    if (certain) scope.certain.add(name);
    return slot;
  }

  /** Reads the innermost variable of that name that has a value, at last the one from outside. */
  reader(scope: Scope | null, name: string, is_set = false): Value {
    if (scope === null) return this.freeReader(name, is_set);
    const slot = scope.slots.get(name);
    if (slot === undefined) return this.reader(scope.outer, name, is_set);
    if (scope.certain.has(name)) return slotReader(slot);
    const outer = this.reader(scope.outer, name, true);
    return (run) => {
      const value = run.frame[slot];
      return value === UNSET ? outer(run) : value;
    };
  }

  private freeReader(name: string, is_set: boolean): Value {
    if (!is_set) this.unset.add(name);
    const index = this.free.get(name) ?? this.free.size;
    this.free.set(name, index);
    return ({ given }) => given[index];
  }
}

const slotReader =
  (slot: number): Value =>
  ({ frame }: Run) =>
    frame[slot];
