import { type Action, type Value, emit, type Run } from './closures.ts';
import type { TemplateAst, Expression, Statement } from './ast.ts';
import { Variables, type Scope, type Compiler } from './variables.ts';
import { EXPRESSIONS } from './expressions.ts';
import { fault } from './budget.ts';
import { compileLoop } from './loop.ts';
import { isNamespace, isTruthy, put, textOf } from './values.ts';

export interface Program {
  readonly run: Action;
  readonly slots: number;
  /** Names that may be external variables. */
  readonly free: readonly string[];
  /** External variables that the template never sets, so they must be given. */
  readonly unset: readonly string[];
}

/** Compiles a tree to closures. No code is generated from text. Names become slots, and operations become references. */
export function compile(ast: TemplateAst): Program {
  const variables = new Variables();
  const run = createCompiler(variables).block(ast.body, variables.global);
  return { run, slots: variables.count, free: [...variables.free.keys()], unset: [...variables.unset] };
}

function createCompiler(variables: Variables): Compiler {
  let size = 0;
  const compiler: Compiler = {
    variables,
    value(expression, scope) {
      size += 1;
      const compileOne = EXPRESSIONS[expression.type] as (node: Expression, scope: Scope, compiler: Compiler) => Value;
      return compileOne(expression, scope, compiler);
    },
    sequence(statements, scope) {
      const actions = statements.map((statement) => {
        size += 1;
        const compileOne = STATEMENTS[statement.type] as (node: Statement, scope: Scope, compiler: Compiler) => Action;
        return compileOne(statement, scope, compiler);
      });
      const [only] = actions;
      if (only !== undefined && actions.length === 1) return only;
      return (run) => {
        for (const action of actions) action(run);
      };
    },
    block(statements, scope) {
      const outer = size;
      size = 1;
      const run = compiler.sequence(statements, scope);
      const cost = size;
      size = outer;
      return (state) => {
        state.budget.step(cost);
        run(state);
      };
    },
  };
  return compiler;
}

type Statements = {
  readonly [Type in Statement['type']]: (node: Statement & { readonly type: Type }, scope: Scope, compiler: Compiler) => Action;
};

const STATEMENTS: Statements = {
  text:
    ({ text }) =>
    (run) =>
      emit(run, text),

  output({ value, line }, scope, compiler) {
    const read = compiler.value(value, scope);
    return (run) => {
      const result = read(run);
      run.line = line;
      emit(run, typeof result === 'string' ? result : textOf(run.budget, result));
    };
  },

  set({ targets, value, line }, scope, compiler) {
    const read = compiler.value(value, scope);
    const writers = targets.map((target) => ('name' in target ? variableWriter(target.name) : attributeWriter(target)));
    const [only] = writers;
    if (writers.length === 1 && only !== undefined) {
      return (run) => {
        const result = read(run);
        run.line = line;
        only(run, result);
      };
    }
    return (run) => {
      const result = read(run);
      run.line = line;
      if (!Array.isArray(result) || result.length !== writers.length) {
        throw fault(`A list of ${writers.length} items is needed to set ${writers.length} names.`);
      }
      writers.forEach((write, index) => write(run, result[index]));
    };

    function variableWriter(name: string) {
      const slot = compiler.variables.declare(scope, name);
      return (run: Run, result: unknown) => {
        run.frame[slot] = result;
      };
    }

    function attributeWriter({ namespace, key }: { readonly namespace: string; readonly key: string }) {
      const owner = compiler.variables.reader(scope, namespace);
      return (run: Run, result: unknown) => {
        const dict = owner(run);
        if (!isNamespace(dict)) throw fault('Only the attributes of a namespace() can be set.');
        put(dict, key, result);
      };
    }
  },

  if({ branches, otherwise }, scope, compiler) {
    const compiled = branches.map(({ test, body }) => ({
      test: compiler.value(test, scope),
      body: compiler.sequence(body, scope),
    }));
    const last = compiler.sequence(otherwise, scope);
    return (run) => (compiled.find(({ test }) => isTruthy(test(run)))?.body ?? last)(run);
  },

  for: (node, scope, compiler) => compileLoop(compiler, node, scope),
};
