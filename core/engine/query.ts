import type { FrozenQuery } from '#snapshots/format.ts';
import type { Json, QueryResult, Source } from '#core/sources/source.ts';
import type { StopSignal } from '#core/sources/stop.ts';
import { AppError } from '#core/errors.ts';
import type { Transformed } from './shape.ts';
import { compileArguments } from './arguments.ts';
import { bind } from './sql/bind.ts';
import { parseTemplate } from './template/parse.ts';
import { applyTransform } from './template/transform.ts';

type Template = ReturnType<typeof parseTemplate>;
export type Values = Readonly<Record<string, Json | undefined>>;

/** A frozen query with its arguments compiled; the template is parsed when it is first used. */
export interface QueryPlan {
  readonly query: FrozenQuery;
  /** Throws `invalid` with the faults of every argument. */
  readonly toValues: (args: Readonly<Record<string, unknown>>) => Values;
  readonly template: () => Template | null;
}

/** A place among the calls that a connection runs at once. `enter` answers nothing when there is one right now. */
export interface Slot {
  enter(signal?: StopSignal): Promise<void> | undefined;
  leave(): void;
}

export interface Run {
  readonly source: () => Promise<Source> | Source;
  /** Absent: no queue. */
  readonly slot?: Slot;
  readonly signal?: StopSignal;
  /** Global variables, for the template. */
  readonly vars: Readonly<Record<string, Json>>;
  /** Filled while it runs, so that a run which fails is told of as well. */
  readonly timing?: RunTiming;
}

/** Times of one run, of `performance.now()`; 0: it did not come so far. */
export interface RunTiming {
  wait_ms: number;
  query_from: number;
  query_to: number;
}

export interface Outcome {
  readonly result: QueryResult;
  readonly transformed: Transformed | null;
  readonly wait_ms: number;
}

export function planQuery(query: FrozenQuery): QueryPlan {
  const text = query.transform_template;
  let template: Template | null = null;
  return {
    query,
    toValues: compileArguments(query.parameters),
    template: () => (text === null ? null : (template ??= parseTemplate(text))),
  };
}

/**
 * Runs a query with checked values: waits for a place, sends the statement with its limits, applies the template.
 * Rejects as `Source.query`, `Slot.enter` and the template do.
 */
export async function runQuery({ query, template }: QueryPlan, values: Values, run: Run): Promise<Outcome> {
  const statement = bind(query.statement, values);
  const entry = run.slot?.enter(run.signal);
  const { timing } = run;
  const wait_ms = entry === undefined ? 0 : await timed(entry, timing);
  let result: QueryResult;
  if (timing !== undefined) timing.query_from = performance.now();
  try {
    const source = await run.source();
    result = await source.query(statement, {
      mode: query.mode,
      timeout_ms: query.timeout_ms,
      max_rows: query.max_rows,
      max_bytes: query.max_bytes,
      ...(run.signal === undefined ? {} : { signal: run.signal }),
    });
  } catch (error) {
    throw asFaultOfSource(error);
  } finally {
    if (timing !== undefined) timing.query_to = performance.now();
    run.slot?.leave();
  }
  const parsed = template();
  const transformed = parsed && applyTransform(parsed, { rows: result.rows, params: toParams(values), vars: run.vars });
  return { result, transformed, wait_ms };
}

/** The values are checked by now: what a source calls invalid are its own settings, which are no business of a caller. */
function asFaultOfSource(error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== 'invalid') return error;
  return new AppError('database_unreachable', error.detail, { cause: error, reason: 'failed' });
}

async function timed(entry: Promise<void>, timing: RunTiming | undefined): Promise<number> {
  const start = performance.now();
  try {
    await entry;
    return performance.now() - start;
  } finally {
    if (timing !== undefined) timing.wait_ms = performance.now() - start;
  }
}

const toParams = (values: Values): Record<string, Json> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value ?? null]));
