import { AppError } from '#core/errors.ts';
import type { TemplateAst } from './ast.ts';
import { type Budget, createBudget, type Limits, TEMPLATE_LIMITS } from './budget.ts';
import { type Run, tooLong } from './closures.ts';
import { compile, type Program } from './compile.ts';
import { data, isDenied } from './values.ts';
import { UNSET } from './variables.ts';

/** A compiled template. `ast` is plain JSON, so it can be stored and loaded again without the parser. */
export interface Template {
  readonly ast: TemplateAst;
  readonly program: Program;
}

export function loadTemplate(ast: TemplateAst): Template {
  return { ast, program: compile(ast) };
}

/**
 * Renders a template with variables: `rows`, `params` and `vars`, or the arguments of a prompt.
 * Throws `invalid` with the line when the template fails or exceeds a limit.
 */
export const renderTemplate = (template: Template, variables: Variables, limits: Limits = TEMPLATE_LIMITS): string =>
  append('', template, variables, createBudget(limits));

/** Renders the messages of a prompt. The limits of one template apply to all of them together. */
export function renderMessages<Role extends string>(
  messages: readonly { readonly role: Role; readonly template: Template }[],
  variables: Variables,
  limits: Limits = TEMPLATE_LIMITS,
): { role: Role; text: string }[] {
  const budget = createBudget(limits);
  let out = '';
  return messages.map(({ role, template }) => {
    const start = out.length;
    out = append(out, template, variables, budget);
    return { role, text: out.slice(start) };
  });
}

type Variables = Readonly<Record<string, unknown>>;

/** @param out the output of the previous templates. @returns `out` with the output of this one appended. */
function append(out: string, { program }: Template, variables: Variables, budget: Budget): string {
  const frame = Array.from<unknown>({ length: program.slots }).fill(UNSET);
  const given = program.free.map((name) =>
    Object.hasOwn(variables, name) && !isDenied(name) ? data(variables[name]) : undefined,
  );
  const run: Run = { budget, frame, given, out, line: 1 };
  try {
    program.run(run);
    const { length } = run.out;
    const most = budget.limits.output;
    if (length * 3 > most && new TextEncoder().encode(run.out).length > most) throw tooLong();
  } catch (error) {
    throw failure(error, run.line);
  }
  // Data can contain lone surrogates, for example in JSON of a database.
  return run.out.toWellFormed();
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
