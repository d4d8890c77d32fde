import { createEffect, createMemo, createSignal, on, onCleanup, untrack } from 'solid-js';
import type { Connection } from '#core/contract/definitions/connections.ts';
import type { RawInput } from '#core/contract/index.ts';
import type { Mask } from '#core/contract/definitions/masks.ts';
import { isFilled, followParameters, trimmed } from './parameters/parameters.ts';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { Preview, Suggestion } from '#core/contract/definitions/preview.ts';
import type { Fault, Language } from '#ui/src/components/editor/code-editor.tsx';
import { type Entered, sampleEntries, toArguments } from '#ui/src/features/run/arguments.ts';
import { type Caller, NOBODY } from '#ui/src/features/run/caller-choice.ts';
import { type Catalog, createCatalog } from './sql/completion.ts';
import { namesOfStatement } from './drafts.ts';
import { keepPreview, takePreview } from './kept-preview.ts';
import { formatSql, type Formatter, loadFormatter } from './sql/format.ts';
import { createRunner } from '#ui/src/features/run/runner.ts';
import { dialectOf, eachOnce, scanSql, sqlFaults } from './sql/scan.ts';
import { endOfWord, placeInText } from './sql/template.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { bare, fieldError, type Problem } from '#ui/src/kernel/problem.ts';

interface StatementOptions {
  readonly connections: () => readonly Connection[];
  readonly connection_id: () => string;
  readonly sql: () => string;
  readonly setSql: (sql: string) => void;
  readonly parameters: () => readonly Parameter[];
  readonly setParameters: (parameters: Parameter[]) => void;
  /** Whether the record was never saved; its preview is kept for the page that it then gets. */
  readonly fresh: boolean;
  /** The names come from elsewhere, such as the address of a resource, and not from the statement. */
  readonly named?: () => readonly string[];
  /** What the database says of the parameters. */
  readonly suggested: () => readonly Suggestion[] | undefined;
  /** Whether the server says that it writes. */
  readonly writes: () => boolean;
  readonly masks: () => readonly Mask[];
  readonly template: () => string | null;
  /** What the result becomes: asks the preview for what a model would receive. */
  readonly becomes: () => Pick<RawInput<'preview.execute'>, 'return_type' | 'text_format' | 'mime_type'>;
  /** The newest refusal of the whole definition, with the statement that it is about. */
  readonly refused: () => { readonly problem: Problem; readonly sql: string } | undefined;
  /** The newest answer that found nothing wrong with the whole definition. */
  readonly approved: () => object | undefined;
}

/** The statement and the shape that a result is of. */
export interface ResultOf {
  readonly queried: string;
  readonly shaped: string;
}

/** What a result was asked with. */
export interface RanAs {
  readonly values: Readonly<Record<string, unknown>>;
  readonly caller: RawInput<'preview.execute'>['caller'];
}

/** `affected_rows`: it was a writing statement, which was rolled back. */
export type Ran = Preview & { readonly affected_rows?: number | null };

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
  const queried = () => JSON.stringify([options.connection_id(), options.sql()]);
  const kept = takePreview(untrack(queried));
  const [entered, setEntered] = createSignal<Entered>(kept?.entered ?? {});
  const [attempted, setAttempted] = createSignal(false);
  const [limit, setLimit] = createSignal(kept?.limit ?? 100);
  const [ran, setRan] = createSignal('');
  let formatter: Promise<Formatter> | undefined;
  const today = new Date().toISOString().slice(0, 10);

  const runner = createRunner(
    async ({ trial, ...input }: RawInput<'preview.execute'> & { trial: boolean }, signal): Promise<Ran> => {
      return trial ? call('preview.trial', input, signal) : call('preview.execute', input, signal);
    },
    kept?.result,
  );
  onCleanup(() => {
    const result = runner.result();
    if (options.fresh && result !== undefined)
      keepPreview({ result, result_of: result_of(), ran_as: ran_as(), entered: entered(), limit: limit() });
  });

  const followed = followParameters(options.fresh ? options.parameters() : []);
  const set = (after: Parameter[]) => {
    const before = options.parameters();
    if (after.length !== before.length || after.some((one, place) => one !== before[place])) options.setParameters(after);
  };
  createEffect(
    on(
      () => (options.named === undefined ? names() : { names: options.named(), optional: new Set<string>() }),
      (now) => {
        const after = followed.follow(options.parameters(), now.names, now.optional);
        // An address has no other parameters than its variables, in their order.
        const filled = after.filter(isFilled);
        const sent = now.names.flatMap((name) => after.find((one) => one.name === name && !isFilled(one)) ?? []);
        set(options.named === undefined ? after : [...sent, ...filled]);
      },
      { defer: true },
    ),
  );
  createEffect(
    on(options.suggested, (suggestions) => {
      if (suggestions !== undefined) set(followed.suggest(options.parameters(), suggestions));
    }),
  );

  /** Parameters of the statement itself: what is declared and not in it cannot be tried. */
  const declared = createMemo(() => options.parameters().filter(({ name }) => names().names.includes(name)));
  const tried = createMemo(() => declared().filter((parameter) => !isFilled(parameter)));
  const [choice, setChoice] = createSignal(NOBODY);
  const caller = () => choice().caller;
  const values = (): Entered => ({ ...sampleEntries(tried(), today), ...entered() });
  const given = createMemo(() => toArguments(tried(), values()));

  const language = createMemo<Language>(() => ({
    name: 'sql',
    dialect: dialect(),
    context: { catalog, parameters: () => options.parameters().map(({ name }) => name) },
  }));
  const template_language = createMemo<Language>(() => ({
    name: 'template',
    context: {
      names: () => ['rows', 'params', 'vars', 'caller'],
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
      const place = rangeOf(refusal.problem, sql);
      return place === undefined ? [] : [{ ...place, message: bare(refusal.problem.detail, 'sql_query', { sql_query: 'SQL' }) }];
    });
    // The server knows more of the same mistake.
    return eachOnce<Fault>([...remote, ...local]);
  });

  const shaped = () => JSON.stringify([options.template(), options.becomes(), options.masks()]);
  const [result_of, setResultOf] = createSignal<ResultOf>(kept?.result_of ?? { queried: '', shaped: '' });
  const [ran_as, setRanAs] = createSignal<RanAs>(kept?.ran_as ?? { values: {}, caller: undefined });

  const run = async (trial = options.writes()) => {
    if (options.connection_id() === '' || options.sql().trim() === '') return;
    setAttempted(true);
    if (Object.keys(given().errors).length > 0) return;
    const template = options.template();
    setRan(options.sql());
    setResultOf({ queried: queried(), shaped: shaped() });
    setRanAs({ values: { ...given().values }, caller: asCaller(caller()).caller });
    await runner.run({
      trial,
      connection_id: options.connection_id(),
      sql_query: options.sql(),
      parameters: { ...given().values },
      definitions: declared().map(trimmed),
      masks: options.masks().filter(({ column }) => column !== ''),
      ...asCaller(caller()),
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
        if (rows_of === queried() && shape_of !== shaped() && !options.writes()) void run();
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
    /** Whom the next run goes out as. */
    choice,
    setChoice,
    /** Whom the result was for; undefined: nobody. */
    caller: () => ran_as().caller,
    /** The arguments of the result. */
    sent: () => ran_as().values,
    /** Its result depends on who calls. */
    called: () =>
      declared().some(isFilled) ||
      options.masks().length > 0 ||
      (options.template() ?? '').includes('caller') ||
      (connection()?.session_values.length ?? 0) > 0 ||
      (connection()?.session_role ?? null) !== null,
    setEntered: (name: string, value: string | undefined) => setEntered((before) => ({ ...before, [name]: value })),
    /** The sentence for one value, once somebody has tried to run. */
    argumentError: (name: string) =>
      (attempted() ? given().errors[name] : undefined) ?? fieldError(runner.problem(), `parameters.${name}`, name),
    result: (): Ran | undefined => runner.result(),
    /** It changes rows, so it is rolled back after it ran. */
    writes: () => options.writes(),
    /** Whether the definition was changed since the result. */
    stale: () => runner.result() !== undefined && (result_of().queried !== queried() || result_of().shaped !== shaped()),
    /** What a plan is asked with: the same as a preview. */
    explained: (): RawInput<'preview.explain'> => ({
      connection_id: options.connection_id(),
      sql_query: options.sql(),
      parameters: { ...given().values },
      definitions: declared().map(trimmed),
      ...asCaller(caller()),
    }),
    problem: runner.problem,
    busy: runner.busy,
    cancel: () => runner.cancel(),
    run,
    async format() {
      formatter ??= loadFormatter();
      const formatted = formatSql(options.sql(), dialect(), await formatter);
      if (formatted === undefined) toasts.show('This statement is incomplete, so it cannot be formatted.');
      else options.setSql(formatted);
    },
  };
}

/** A statement that is not deployed is in no toolset. */
export function asCaller(chosen: Caller | undefined): Pick<RawInput<'preview.execute'>, 'caller'> {
  if (chosen === undefined) return {};
  const { toolsets: _, ...caller } = chosen;
  return { caller };
}

/** Where in the statement a refusal points. */
function rangeOf({ position, detail, errors }: Problem, sql: string): { start: number; end: number } | undefined {
  if (errors.length > 0 && !errors.some(({ field }) => field === 'sql_query')) return undefined;
  if (position !== undefined) return { start: position, end: endOfWord(sql, position) };
  return placeInText(detail, sql);
}
