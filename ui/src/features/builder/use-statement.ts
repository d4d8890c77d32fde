import { createEffect, createMemo, createSignal, on, onCleanup, untrack } from 'solid-js';
import type { Output, RawInput } from '#core/contract/index.ts';
import type { PlanLimits } from '#core/contract/definitions/pages.ts';
import type { ToolDraft } from '#core/contract/definitions/tools.ts';
import { isFilled, followParameters, trimmed } from './parameters/parameters.ts';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { Preview } from '#core/contract/definitions/preview.ts';
import type { EditorHandle, Fault, Language } from '#ui/src/components/editor/code-editor.tsx';
import { type Entered, sampleEntries, toArguments } from '#ui/src/features/run/arguments.ts';
import { type Caller, NO_CALLER_CHOSEN } from '#ui/src/features/run/caller-choice.ts';
import { type Catalog, createCatalog } from './sql/completion.ts';
import { namesOfStatement } from './drafts.ts';
import type { DefinitionDraft } from './definition-draft.ts';
import { keepPreview, takePreview } from './new-preview.ts';
import { formatSql, type Formatter, loadFormatter } from './sql/format.ts';
import { createRunner } from '#ui/src/features/run/runner.ts';
import { dialectOf, eachOnce, scanSql, sqlFaults } from './sql/scan.ts';
import { endOfWord, rangeInText } from './sql/template.ts';
import { type ColumnSource, columnSource } from './values/column-values.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { bare, fieldError, type Problem } from '#ui/src/kernel/problem.ts';

/** What tools and resources have in common, and what the parts of their pages read of tools. */
export type StatementFields = Pick<
  ToolDraft,
  | 'connection_id'
  | 'name'
  | 'title'
  | 'description'
  | 'tags'
  | 'enabled'
  | 'sql_query'
  | 'parameters'
  | 'transform_template'
  | 'masks'
> &
  Partial<Pick<ToolDraft, 'read_only' | 'view'>>;

export type CheckedStatement = Output<'preview.tool'> | Output<'preview.resource'>;

/** Whether there is a statement to check and to run. */
export const isReady = ({ connection_id, sql_query }: Pick<StatementFields, 'connection_id' | 'sql_query'>): boolean =>
  connection_id !== '' && sql_query.trim() !== '';

/** Converts the result for a model, and limits its plan. */
export type Becomes = Pick<RawInput<'preview.execute'>, 'return_type' | 'text_format' | 'mime_type' | keyof PlanLimits>;

interface StatementOptions {
  /** Parameter names from elsewhere, such as the address of a resource, instead of the statement. */
  readonly named?: () => readonly string[];
  /** How the preview converts the result for a model. */
  readonly becomes: () => Becomes;
}

/** The statement and the conversion that a result belongs to. */
export interface ResultOf {
  readonly queried: string;
  readonly shaped: string;
}

/** The inputs of a result. */
export interface RanAs {
  readonly values: Readonly<Record<string, unknown>>;
  readonly caller: RawInput<'preview.execute'>['caller'];
}

/** `affected_rows`: a writing statement ran and was rolled back. */
export type Ran = Preview & { readonly affected_rows?: number | null };

export type Statement = ReturnType<typeof useStatement>;

/** A statement being edited: its dialect, parameters, errors and result. */
export function useStatement(
  draft: Omit<DefinitionDraft<StatementFields, CheckedStatement>, 'run'>,
  { named, becomes }: StatementOptions,
) {
  const kernel = useKernel();
  const { call, toasts } = kernel;
  const { check, form } = draft;
  const { values: fields } = form;
  /** Its preview is passed on to the page of the saved record. */
  const is_new = untrack(draft.stored) === undefined;
  const ready = () => isReady(fields);
  const connection = createMemo(() => draft.connections().find(({ id }) => id === fields.connection_id));
  const dialect = createMemo(() => dialectOf(connection()?.db_type));
  const catalog = createMemo<Catalog | undefined>(() =>
    fields.connection_id === '' ? undefined : createCatalog(call, fields.connection_id),
  );
  const names = createMemo(() => namesOfStatement(fields.sql_query, dialect()));
  const queried = () => JSON.stringify([fields.connection_id, fields.sql_query]);
  const passed = takePreview(kernel, untrack(queried));
  const [entered, setEntered] = createSignal<Entered>(passed?.entered ?? {});
  const [attempted, setAttempted] = createSignal(false);
  const [limit, setLimit] = createSignal(passed?.limit ?? 100);
  const [ran, setRan] = createSignal('');
  let formatter: Promise<Formatter> | undefined;
  let editor: EditorHandle | undefined;
  const today = new Date().toISOString().slice(0, 10);
  const suggested = () => check.data()?.suggested;
  /** Whether the server classifies it as writing. While a draft is refused because of another field, the last answer counts. */
  const writes = createMemo((before: boolean) => {
    const found = check.data();
    const reads = found !== undefined && 'read_only' in found ? found.read_only : undefined;
    return reads === undefined ? before || fields.read_only === false : !reads;
  }, false);

  const runner = createRunner(
    async ({ trial, ...input }: RawInput<'preview.execute'> & { trial: boolean }, signal): Promise<Ran> => {
      return trial ? call('preview.trial', input, signal) : call('preview.execute', input, signal);
    },
    passed?.result,
  );
  onCleanup(() => {
    const result = runner.result();
    if (is_new && result !== undefined)
      keepPreview(kernel, { result, result_of: result_of(), ran_as: ran_as(), entered: entered(), limit: limit() });
  });

  const followed = followParameters(is_new ? fields.parameters : []);
  const set = (after: Parameter[]) => {
    const before = fields.parameters;
    if (after.length !== before.length || after.some((one, index) => one !== before[index])) form.set('parameters', after);
  };
  createEffect(
    on(
      () => (named === undefined ? names() : { names: named(), optional: new Set<string>() }),
      (now) => {
        const after = followed.follow(fields.parameters, now.names, now.optional);
        // The parameters of an address are its variables, in their order.
        const filled = after.filter(isFilled);
        const sent = now.names.flatMap((name) => after.find((one) => one.name === name && !isFilled(one)) ?? []);
        set(named === undefined ? after : [...sent, ...filled]);
      },
      { defer: true },
    ),
  );
  createEffect(
    on(suggested, (suggestions) => {
      if (suggestions !== undefined) set(followed.suggest(fields.parameters, suggestions));
    }),
  );

  /** Declared parameters that occur in the statement: only these can be tried. */
  const declared = createMemo(() => fields.parameters.filter(({ name }) => names().names.includes(name)));
  const tried = createMemo(() => declared().filter((parameter) => !isFilled(parameter)));
  /** The column that a parameter is compared with, whose values can be read. */
  const sourceOf = (parameter: Parameter): ColumnSource | undefined => {
    const known = catalog();
    const column = suggested()?.find(({ name }) => name === parameter.name)?.column;
    return known && columnSource({ call, catalog: known, dialect: dialect() }, parameter, column);
  };
  const [choice, setChoice] = createSignal(NO_CALLER_CHOSEN);
  const caller = () => choice().caller;
  const values = (): Entered => ({ ...sampleEntries(tried(), today), ...entered() });
  const given = createMemo(() => toArguments(tried(), values()));

  const described = createMemo((before: readonly string[]) => check.data()?.columns ?? before, []);
  /** Columns of the result, as the database described them; where it cannot, those of the newest result. */
  const columns = () => (described().length > 0 ? described() : (runner.result()?.columns ?? []));

  const language = createMemo<Language>(() => ({
    name: 'sql',
    dialect: dialect(),
    context: { catalog, parameters: () => fields.parameters.map(({ name }) => name) },
  }));
  const template_language = createMemo<Language>(() => ({
    name: 'template',
    context: {
      names: () => ['rows', 'params', 'vars', 'caller'],
      members: () => ({ row: columns(), params: fields.parameters.map(({ name }) => name) }),
    },
  }));

  const refusals = () => [
    ...(check.refused() === undefined ? [] : [check.refused()]),
    ...(runner.problem() === undefined ? [] : [{ problem: runner.problem() as Problem, sql: ran() }]),
  ];
  const faults = createMemo<Fault[]>(() => {
    const sql = fields.sql_query;
    const local = sqlFaults(sql, scanSql(sql, dialect()));
    const remote = refusals().flatMap((refusal) => {
      if (refusal === undefined || refusal.sql !== sql) return [];
      const range = rangeOf(refusal.problem, sql);
      return range === undefined ? [] : [{ ...range, message: bare(refusal.problem.detail, 'sql_query', { sql_query: 'SQL' }) }];
    });
    // The server's error is more precise than the local one.
    return eachOnce<Fault>([...remote, ...local]);
  });

  const shaped = () => JSON.stringify([fields.transform_template, becomes(), fields.masks]);
  const [result_of, setResultOf] = createSignal<ResultOf>(passed?.result_of ?? { queried: '', shaped: '' });
  const [ran_as, setRanAs] = createSignal<RanAs>(passed?.ran_as ?? { values: {}, caller: undefined });

  const run = async (trial = writes()) => {
    if (!ready()) return;
    setAttempted(true);
    if (Object.keys(given().errors).length > 0) return;
    const template = fields.transform_template;
    setRan(fields.sql_query);
    setResultOf({ queried: queried(), shaped: shaped() });
    setRanAs({ values: { ...given().values }, caller: asCaller(caller()).caller });
    await runner.run({
      trial,
      connection_id: fields.connection_id,
      sql_query: fields.sql_query,
      parameters: { ...given().values },
      definitions: declared().map(trimmed),
      masks: fields.masks.filter(({ column }) => column !== ''),
      ...asCaller(caller()),
      limit: limit(),
      ...(template === null || template === '' ? {} : { transform_template: template }),
      ...becomes(),
    });
  };

  // After a first run, a changed template or conversion is previewed as soon as it is valid.
  createEffect(
    on(
      check.approved,
      (approved) => {
        const { queried: rows_of, shaped: shape_of } = result_of();
        if (approved === undefined || runner.result() === undefined || runner.busy()) return;
        if (rows_of === queried() && shape_of !== shaped() && !writes()) void run();
      },
      { defer: true },
    ),
  );

  return {
    ready,
    connection,
    dialect,
    catalog,
    names: () => names().names,
    language,
    template_language,
    faults,
    columns,
    sourceOf,
    tried,
    values,
    limit,
    setLimit,
    /** The caller of the next run. */
    choice,
    setChoice,
    /** The caller of the result; undefined: none. */
    caller: () => ran_as().caller,
    /** The arguments of the result. */
    sent: () => ran_as().values,
    /** Whether the result depends on the caller. */
    called: () =>
      declared().some(isFilled) ||
      fields.masks.length > 0 ||
      (fields.transform_template ?? '').includes('caller') ||
      (connection()?.session_values.length ?? 0) > 0 ||
      (connection()?.session_role ?? null) !== null,
    setEntered: (name: string, value: string | undefined) => setEntered((before) => ({ ...before, [name]: value })),
    /** The error of an argument, after the first attempt to run. */
    argumentError: (name: string) =>
      (attempted() ? given().errors[name] : undefined) ?? fieldError(runner.problem(), `parameters.${name}`, name),
    result: (): Ran | undefined => runner.result(),
    /** Whether it changes rows; a preview rolls them back. */
    writes,
    /** Whether the definition was changed since the result. */
    stale: () => runner.result() !== undefined && (result_of().queried !== queried() || result_of().shaped !== shaped()),
    /** The input of a plan: the same as a preview's. */
    explained: (): RawInput<'preview.explain'> => ({
      connection_id: fields.connection_id,
      sql_query: fields.sql_query,
      parameters: { ...given().values },
      definitions: declared().map(trimmed),
      ...asCaller(caller()),
    }),
    problem: runner.problem,
    busy: runner.busy,
    cancel: () => runner.cancel(),
    run,
    attach: (loaded: EditorHandle) => void (editor = loaded),
    /** Writes a text at the cursor; at the end while the editor is not loaded. */
    insert(text: string) {
      if (editor === undefined) form.set('sql_query', `${fields.sql_query} ${text}`.trimStart());
      else editor.insert(text);
    },
    async format() {
      formatter ??= loadFormatter();
      const formatted = formatSql(fields.sql_query, dialect(), await formatter);
      if (formatted === undefined) toasts.show('This statement is incomplete, so it cannot be formatted.');
      else form.set('sql_query', formatted);
    },
  };
}

/** A statement that is not deployed is in no toolset. */
export function asCaller(chosen: Caller | undefined): Pick<RawInput<'preview.execute'>, 'caller'> {
  if (chosen === undefined) return {};
  const { toolsets: _, ...caller } = chosen;
  return { caller };
}

/** The range in the statement that a refusal refers to. */
function rangeOf({ position, detail, errors }: Problem, sql: string): { start: number; end: number } | undefined {
  if (errors.length > 0 && !errors.some(({ field }) => field === 'sql_query')) return undefined;
  if (position !== undefined) return { start: position, end: endOfWord(sql, position) };
  return rangeInText(detail, sql);
}
