import { AppError } from '#core/errors.ts';
import type { TemplateAst } from './ast.ts';
import { createBudget, type Limits, TEMPLATE_LIMITS } from './budget.ts';
import { type Run, tooLong } from './closures.ts';
import { compile, type Program } from './compile.ts';
import { data, isDenied } from './values.ts';
import { UNSET } from './variables.ts';

/** A template ready to run. `ast` is plain JSON: it may be stored and loaded again without the parser. */
export interface Template {
  readonly ast: TemplateAst;
  readonly program: Program;
}

export function loadTemplate(ast: TemplateAst): Template {
  return { ast, program: compile(ast) };
}

/**
 * Runs a template over JSON values by name: `rows`, `params` and `vars`, or the arguments of a prompt.
 * Throws `invalid` with the line when the template fails or exceeds a limit.
 */
export function renderTemplate(
  { program }: Template,
  variables: Readonly<Record<string, unknown>>,
  limits: Limits = TEMPLATE_LIMITS,
): string {
  const frame = Array.from<unknown>({ length: program.slots }).fill(UNSET);
  const given = program.free.map((name) =>
    Object.hasOwn(variables, name) && !isDenied(name) ? data(variables[name]) : undefined,
  );
  const run: Run = { budget: createBudget(limits), frame, given, out: '', line: 1 };
  try {
    program.run(run);
    const { length } = run.out;
    if (length * 3 > limits.output && new TextEncoder().encode(run.out).length > limits.output) throw tooLong();
  } catch (error) {
    throw failure(error, run.line);
  }
  return run.out;
}

function failure(error: unknown, line: number): AppError {
  if (error instanceof AppError) {
    return new AppError('invalid', `Line ${line} of the template: ${error.detail}`, { cause: error });
  }
  if (error instanceof RangeError) {
    return new AppError('invalid', `Line ${line} of the template: a value is nested too deeply or too large.`, { cause: error });
  }
  return new AppError('internal', `Line ${line} of the template could not be evaluated.`, { cause: error });
}
