import { createEffect, createMemo, createSignal, on, onCleanup } from 'solid-js';
import type { Connection } from '#core/contract/connections.ts';
import type { RawInput } from '#core/contract/index.ts';
import type { Parameter } from '#core/contract/parameters.ts';
import type { Preview } from '#core/contract/preview.ts';
import type { Fault, Language } from '#ui/src/components/editor/code-editor.tsx';
import { type Entered, sampleEntries, toArguments } from '#ui/src/kernel/builder-arguments.ts';
import { type Catalog, createCatalog } from '#ui/src/kernel/builder-completion.ts';
import { namesOfStatement } from '#ui/src/kernel/builder-drafts.ts';
import { formatSql, type Formatter, loadFormatter } from '#ui/src/kernel/builder-format.ts';
import { followStatement, trimmed } from '#ui/src/kernel/builder-parameters.ts';
import { createRunner } from '#ui/src/kernel/builder-run.ts';
import { dialectOf, scanSql, sqlFaults } from '#ui/src/kernel/builder-sql.ts';
import { endOfWord, placeInText } from '#ui/src/kernel/builder-template.ts';
import { bare } from '#ui/src/kernel/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import type { Problem } from '#ui/src/kernel/problem.ts';
import { BUILDER_WORDS as WORDS } from './words.ts';

export interface StatementOptions {
  readonly connections: () => readonly Connection[];
  readonly connection_id: () => string;
  readonly sql: () => string;
  readonly setSql: (sql: string) => void;
  readonly parameters: () => readonly Parameter[];
  /** Given when the parameters follow the statement. */
  readonly setParameters?: ((parameters: Parameter[]) => void) | undefined;
  readonly template: () => string | null;
  /** What the result becomes: asks the preview for what a model would receive. */
  readonly becomes: () => Pick<RawInput<'preview.execute'>, 'return_type' | 'mime_type'>;
  /** The newest refusal of the whole definition, with the statement that it is about. */
  readonly refused: () => { readonly problem: Problem; readonly sql: string } | undefined;
  /** The newest answer that found nothing wrong with the whole definition. */
  readonly approved: () => object | undefined;
}

export type Statement = ReturnType<typeof useStatement>;

/** A statement that is being written: its language, its parameters, its faults, and what it gives. */
export function useStatement(options: StatementOptions) {
  const { call, toasts } = useKernel();
  const connection = createMemo(() => options.connections().find(({ id }) => id === options.connection_id()));
  const dialect = createMemo(() => dialectOf(connection()?.db_type));
  const catalog = createMemo<Catalog | undefined>(() =>
    options.connection_id() === '' ? undefined : createCatalog(call, options.connection_id()),
  );
  const names = createMemo(() => namesOfStatement(options.sql(), dialect()));
  const [entered, setEntered] = createSignal<Entered>({});
  const [attempted, setAttempted] = createSignal(false);
  const [limit, setLimit] = createSignal(100);
  const [ran, setRan] = createSignal('');
  let formatter: Promise<Formatter> | undefined;
  const today = new Date().toISOString().slice(0, 10);

  const runner = createRunner((input: RawInput<'preview.execute'>, signal) => call('preview.execute', input, signal));
  onCleanup(() => runner.cancel());

  const { setParameters } = options;
  if (setParameters !== undefined) {
    createEffect(
      on(
        names,
        (now) => {
          const before = options.parameters();
          const after = followStatement(before, now.names, now.optional);
          if (after.length !== before.length || after.some((one, place) => one !== before[place])) setParameters(after);
        },
        { defer: true },
      ),
    );
  }

  /** Parameters of the statement itself: what is declared and not in it cannot be tried. */
  const tried = createMemo(() => options.parameters().filter(({ name }) => names().names.includes(name)));
  const values = (): Entered => ({ ...sampleEntries(tried(), today), ...entered() });
  const given = createMemo(() => toArguments(tried(), values()));

  const language = createMemo<Language>(() => ({
    name: 'sql',
    dialect: dialect(),
    world: { catalog, parameters: () => options.parameters().map(({ name }) => name) },
  }));
  const template_language = createMemo<Language>(() => ({
    name: 'template',
    world: {
      names: () => ['rows', 'params', 'vars'],
      members: () => ({ row: runner.result()?.columns ?? [], params: options.parameters().map(({ name }) => name) }),
    },
  }));

  const refusals = () => [
    ...(options.refused() === undefined ? [] : [options.refused()]),
    ...(runner.problem() === undefined ? [] : [{ problem: runner.problem() as Problem, sql: ran() }]),
  ];
  const faults = createMemo<Fault[]>(() => {
    const sql = options.sql();
    const local = sqlFaults(sql, scanSql(sql, dialect()));
    const remote = refusals().flatMap((refusal) => {
      if (refusal === undefined || refusal.sql !== sql) return [];
      const place = placeOf(refusal.problem, sql);
      return place === undefined ? [] : [{ ...place, message: bare(refusal.problem.detail, 'sql_query') }];
    });
    return [...local, ...remote.filter(({ message }, index) => remote.findIndex((one) => one.message === message) === index)];
  });

  const queried = () => JSON.stringify([options.connection_id(), options.sql()]);
  const shaped = () => JSON.stringify([options.template(), options.becomes()]);
  const [result_of, setResultOf] = createSignal({ queried: '', shaped: '' });

  const run = async () => {
    if (options.connection_id() === '' || options.sql().trim() === '') return;
    setAttempted(true);
    if (Object.keys(given().errors).length > 0) return;
    const template = options.template();
    setRan(options.sql());
    setResultOf({ queried: queried(), shaped: shaped() });
    await runner.run({
      connection_id: options.connection_id(),
      sql_query: options.sql(),
      parameters: { ...given().values },
      definitions: tried().map(trimmed),
      limit: limit(),
      ...(template === null || template === '' ? {} : { transform_template: template }),
      ...options.becomes(),
    });
  };

  // Once there are rows, another template or shape is shown by itself, as soon as it can be read.
  createEffect(
    on(
      options.approved,
      (approved) => {
        const { queried: rows_of, shaped: shape_of } = result_of();
        if (approved === undefined || runner.result() === undefined || runner.busy()) return;
        if (rows_of === queried() && shape_of !== shaped()) void run();
      },
      { defer: true },
    ),
  );

  return {
    connection,
    dialect,
    catalog,
    names: () => names().names,
    language,
    template_language,
    faults,
    tried,
    values,
    limit,
    setLimit,
    setEntered: (name: string, value: string | undefined) => setEntered((before) => ({ ...before, [name]: value })),
    /** The sentence for one value, once somebody has tried to run. */
    argumentError: (name: string) =>
      (attempted() ? given().errors[name] : undefined) ??
      runner.problem()?.errors.find(({ field }) => field === `parameters.${name}`)?.message,
    result: (): Preview | undefined => runner.result(),
    /** Whether the definition was changed since the result. */
    stale: () => runner.result() !== undefined && (result_of().queried !== queried() || result_of().shaped !== shaped()),
    problem: runner.problem,
    busy: runner.busy,
    cancel: () => runner.cancel(),
    run,
    async format() {
      formatter ??= loadFormatter();
      const formatted = formatSql(options.sql(), dialect(), await formatter);
      if (formatted === undefined) toasts.show(WORDS.cannot_format);
      else options.setSql(formatted);
    },
  };
}

/** Where in the statement a refusal points. */
function placeOf({ position, detail, errors }: Problem, sql: string): { start: number; end: number } | undefined {
  if (errors.length > 0 && !errors.some(({ field }) => field === 'sql_query')) return undefined;
  if (position !== undefined) return { start: position, end: endOfWord(sql, position) };
  return placeInText(detail, sql);
}
