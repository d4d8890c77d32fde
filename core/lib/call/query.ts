import type { FrozenQuery } from '#snapshots/format.ts';
import type { BoundStatement, Json, QueryResult, Seat, Source } from '#core/engines/shared/source.ts';
import type { StopSignal } from '#core/engines/shared/stop.ts';
import { AppError } from '#core/errors.ts';
import type { Transformed } from './shape.ts';
import { compileArguments, type Tally } from './arguments.ts';
import { bind } from '../sql/bind.ts';
import type { SqlDialect } from '../sql/dialect.ts';
import { parseTemplate } from '../template/parse.ts';
import { applyTransform } from '../template/transform.ts';

type Template = ReturnType<typeof parseTemplate>;
export type Values = Readonly<Record<string, Json | undefined>>;

/** A frozen query with its arguments compiled; the template is parsed when it is first used. */
export interface QueryPlan {
  readonly query: FrozenQuery;
  /** The grammar of its statement. */
  readonly dialect: SqlDialect;
  /** Throws `invalid` with the faults of every argument. A promise when the check takes long. */
  readonly toValues: (args: Readonly<Record<string, unknown>>, tally: Tally) => Values | Promise<Values>;
  readonly template: () => Template | null;
}

/** A place among the calls that a connection runs at once. `enter` answers nothing when there is one right now. */
export interface Slot {
  /** @param sit finds the call a way to be sent ahead while all `places` are taken; false when there is none. */
  enter(signal?: StopSignal, sit?: (places: number) => boolean): Promise<void> | undefined;
  /** Waits for a place of its own, before everybody else: a call that was sent ahead must run by itself. */
  again(signal?: StopSignal): Promise<void>;
  leave(): void;
  /** How many calls run at once. */
  places(): number;
}

export interface Run {
  readonly source: () => Promise<Source> | Source;
  /** The same when it is open by now; absent: the run takes no seat beside others. */
  readonly opened?: () => Source | undefined;
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

export function planQuery(query: FrozenQuery, dialect: SqlDialect): QueryPlan {
  const text = query.transform_template;
  let template: Template | null = null;
  return {
    query,
    dialect,
    toValues: compileArguments(query.parameters),
    template: () => (text === null ? null : (template ??= parseTemplate(text))),
  };
}

/**
 * Runs a query with checked values: waits for a place, sends the statement with its limits, applies the template.
 * Rejects as `Source.query`, `Slot.enter` and the template do.
 */
export async function runQuery({ query, dialect, template }: QueryPlan, values: Values, run: Run): Promise<Outcome> {
  const statement = bind(query.statement, dialect, values);
  const { slot, signal, timing } = run;
  const opened = query.mode === 'fixed' ? run.opened?.() : undefined;
  const seats = opened?.seat === undefined || slot === undefined ? null : new Seats(opened, statement);
  const entry = slot?.enter(signal, seats?.take);
  let wait_ms = entry === undefined ? 0 : await timed(entry, timing);
  let is_in = true;
  let result: QueryResult | null = null;
  if (timing !== undefined) timing.query_from = performance.now();
  const { mode, timeout_ms, max_rows, max_bytes } = query;
  const limits = { mode, timeout_ms, max_rows, max_bytes, signal };
  try {
    if (seats?.take(slot?.places() ?? 0) === true) {
      result = (await seats.seat?.query(limits)) ?? null;
      if (result === null) {
        is_in = false;
        if (slot !== undefined) wait_ms += await timed(slot.again(signal), timing);
        is_in = true;
      }
    }
    if (result === null) {
      const source = await run.source();
      result = await source.query(statement, limits);
    }
  } catch (error) {
    throw asFaultOfSource(error);
  } finally {
    if (timing !== undefined) timing.query_to = performance.now();
    if (is_in) slot?.leave();
  }
  const parsed = template();
  const transformed = parsed && applyTransform(parsed, { rows: result.rows, params: toParams(values), vars: run.vars });
  return { result, transformed, wait_ms };
}

/** The seat of one statement, once one was found. */
class Seats {
  seat: Seat | null = null;
  readonly #source: Source;
  readonly #statement: BoundStatement;

  constructor(source: Source, statement: BoundStatement) {
    this.#source = source;
    this.#statement = statement;
  }

  readonly take = (places: number): boolean => {
    this.seat ??= this.#source.seat?.(this.#statement, places) ?? null;
    return this.seat !== null;
  };
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
    if (timing !== undefined) timing.wait_ms += performance.now() - start;
  }
}

const toParams = (values: Values): Record<string, Json> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value ?? null]));
