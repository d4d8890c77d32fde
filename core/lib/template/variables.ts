import type { Expression, Statement } from './ast.ts';
import type { Action, Value, Run } from './closures.ts';

export interface Compiler {
  readonly variables: Variables;
  value(expression: Expression, scope: Scope): Value;
  sequence(statements: readonly Statement[], scope: Scope): Action;
  /** A sequence of statements, charged once for all its nodes. Loops in it are charged separately. */
  block(statements: readonly Statement[], scope: Scope): Action;
}

/** The value of an unassigned slot. No expression can return it. */
export const UNSET: unique symbol = Symbol('unset');

export interface Scope {
  readonly slots: Map<string, number>;
  /** Names that always have a value here, such as those of a loop. */
  readonly certain: Set<string>;
  readonly outer: Scope | null;
}

/**
 * Assigns a slot to every name at compile time. Each loop has a scope, as in Jinja2. A scope starts empty each time, so a name
 * can only be read after it was set.
 */
export class Variables {
  count = 0;
  /** Names that may be external variables, with their slots. */
  readonly free = new Map<string, number>();
  /** External variables that the template never sets. */
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

  /** Reads the innermost variable with this name that has a value, otherwise the external one. */
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
