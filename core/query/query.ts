import type { FrozenQuery } from './frozen-query.ts';
import type { BoundStatement, QueryResult } from '#core/lib/sql/result.ts';
import type { Changes, PipelineSlot, SessionState, Source } from '#core/engines/shared/source.ts';
import type { StopSignal } from '#core/engines/shared/stop.ts';
import { AppError } from '#core/errors.ts';
import { createMasker, maskClass, type MaskFor, type Pseudonym } from './masks.ts';
import type { LimitedResult } from './limits.ts';
import { cutPage, cutRows, fetchLimits, pageStatements, type Position } from './pages.ts';
import { createPlanCheck, type PlanCheck } from './plan-check.ts';
import { type Transformed, applyTransform } from '#core/lib/template/transform.ts';
import { bind } from '#core/lib/sql/bind.ts';
import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import { type Paging, pagingOf } from '#core/lib/sql/paging.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import type { CallFacts } from './value-sources.ts';
import { compileValues, type ResolveValues, transformScope, type ParameterValues } from './values.ts';

type Template = ReturnType<typeof parseTemplate>;

/** A frozen query with compiled arguments. The template is parsed on first use. */
export interface QueryPlan {
  readonly query: FrozenQuery;
  /** SQL dialect of the statement. */
  readonly dialect: SqlDialect;
  readonly resolve: ResolveValues;
  /** Null: no pages. */
  readonly paging: Paging | null;
  readonly template: () => Template | null;
  /** Null: the plan is never read. */
  readonly plan_check: PlanCheck | null;
  /** Null: all callers see unmasked rows. */
  readonly mask: MaskFor | null;
  /** Everything besides the values that the result depends on, for the cache key; JSON values. */
  readonly beside: (facts: CallFacts, session: SessionState | null) => readonly unknown[];
}

/** A slot in a connection's queue, which limits concurrent calls. `enter` returns undefined if a slot is free immediately. */
export interface Slot {
  /**
   * @param pipeline tries to pipeline the call while all `slots` are taken; returns false if there is no room. @param holder
   * returns whose share of the queue a waiting call counts against; read only if the call waits.
   */
  enter(signal?: StopSignal, pipeline?: (slots: number) => boolean, holder?: () => string): Promise<void> | undefined;
  /** Waits for an exclusive slot ahead of all other calls, for a pipelined call that has to run again. */
  again(signal?: StopSignal): Promise<void>;
  leave(): void;
  /** Maximum concurrent calls. */
  slots(): number;
}

export interface Execution {
  readonly source: () => Promise<Source> | Source;
  /** Returns the source if it is already open. Absent: the run is never pipelined. */
  readonly opened?: (() => Source | undefined) | undefined;
  /** Absent: no queue. */
  readonly slot?: Slot;
  /** Whose share of the queue a waiting run counts against. Absent: a share that all such runs have in common. */
  readonly holder?: () => string;
  readonly signal?: StopSignal;
  /** The facts that the values came from, for the template and the masks. */
  readonly facts: CallFacts;
  /** Session values for the database; null: none. */
  readonly session?: SessionState | null;
  /** For masks of type hash. */
  readonly pseudonym: Pseudonym;
  /** Rolls a write back instead of committing it. */
  readonly rollback?: boolean;
  /** Decides after counting all changed rows whether a write commits. */
  readonly review?: ((changes: Changes) => boolean) | undefined;
  /** The position at which the page starts. Absent: the first page. */
  readonly after?: Position | null;
  /** Filled during the run, so that a failed run is recorded too. */
  readonly record?: RunRecord;
}

/** Measurements of one run. Times are `performance.now()` values; 0 if the run did not get that far. */
export interface RunRecord {
  wait_ms: number;
  query_from: number;
  query_to: number;
  /** The write was committed, even if the call fails afterwards. */
  committed: boolean;
}

export interface ExecutionResult {
  readonly result: LimitedResult;
  readonly transformed: Transformed | null;
  readonly wait_ms: number;
  /** The position of the next page; null if there is none. */
  readonly next: Position | null;
}

const NOTHING: readonly unknown[] = [];

export function planQuery(query: FrozenQuery, dialect: SqlDialect): QueryPlan {
  const text = query.transform_template;
  let parsed: Template | null = null;
  const template = () => (text === null ? null : (parsed ??= parseTemplate(text)));
  return {
    query,
    dialect,
    resolve: compileValues(query.parameters, query.statement, query.mode === 'write'),
    paging: query.page_by === undefined ? null : pagingOf(query.statement, dialect, query.page_by, query.max_rows + 1),
    template,
    plan_check: createPlanCheck(query),
    mask: query.masks === undefined ? null : createMasker(query.masks),
    beside({ caller }, session) {
      const { masks } = query;
      const reads_caller = template()?.program.free.includes('caller') === true;
      if (masks === undefined && session === null && !reads_caller) return NOTHING;
      const mask_class = masks === undefined ? '' : maskClass(masks, caller.identity.groups);
      return [mask_class, session, reads_caller ? [caller.identity, caller.claims] : null];
    },
  };
}

/**
 * Runs a query with checked values: waits for a slot, sends the statement with its limits, applies the template.
 * Rejects with the errors of `Source.query`, `Slot.enter` and the template.
 */
export async function runQuery(plan: QueryPlan, values: ParameterValues, run: Execution): Promise<ExecutionResult> {
  const { query, dialect, template, mask, paging } = plan;
  const page_of = paging === null ? null : pageStatements(paging, query, dialect, values, run.after ?? null);
  const statement = page_of?.first ?? bind(query.statement, dialect, values);
  const { slot, signal, record } = run;
  const opened = query.mode === 'fixed' && plan.plan_check === null ? run.opened?.() : undefined;
  const pipelined = opened?.pipelineSlot === undefined || slot === undefined ? null : new Pipelined(opened, statement);
  const entry = slot?.enter(signal, pipelined?.take, run.holder);
  let wait_ms = entry === undefined ? 0 : await timed(entry, record);
  let is_in = true;
  let result: QueryResult | null = null;
  let plan_note: string | null = null;
  if (record !== undefined) record.query_from = performance.now();
  const { mode, timeout_ms } = query;
  const { rollback = false } = run;
  let commits = mode === 'write' && !rollback && run.review === undefined;
  const review = run.review && ((changes: Changes): boolean => (commits = run.review?.(changes) === true));
  const { max_rows, max_bytes } = fetchLimits(query, paging !== null);
  const limits = { mode, timeout_ms, max_rows, max_bytes, signal, session: run.session ?? undefined, rollback, review };
  try {
    if (pipelined?.take(slot?.slots() ?? 0) === true) {
      result = (await pipelined.slot?.query(limits)) ?? null;
      if (result === null) {
        is_in = false;
        if (slot !== undefined) wait_ms += await timed(slot.again(signal), record);
        is_in = true;
      }
    }
    if (result === null) {
      const source = await run.source();
      if (review !== undefined) await refuseUncounted(source, statement.text);
      if (plan.plan_check !== null) plan_note = await plan.plan_check(source, statement, values, limits);
      result = await source.query(statement, limits);
    }
    if (commits && record !== undefined) record.committed = true;
    if (page_of !== null) result = await page_of.complete(result, async (more) => (await run.source()).query(more, limits));
  } catch (error) {
    throw asFaultOfSource(error);
  } finally {
    if (record !== undefined) record.query_to = performance.now();
    if (is_in) slot?.leave();
  }
  // From here on only masked values are used, except for the position of the next page.
  const masked = mask === null ? result : mask(result, run.facts.caller.identity.groups, run.pseudonym);
  const page =
    paging === null
      ? { result: cutRows(result, masked, query), next: null }
      : cutPage(result, masked, paging, query, run.after ?? null);
  const parsed = ofResult(template);
  const transformed = parsed && transformRows(parsed, page.result, values, run.facts);
  const noted = plan_note === null ? page.result : { ...page.result, plan_note };
  return { result: noted, next: page.next, transformed, wait_ms };
}

/** Applies a template to rows that a caller may see. Throws `bad_request` if it fails on them. */
export const transformRows = (
  template: Template,
  { rows }: QueryResult,
  values: ParameterValues,
  facts: CallFacts,
): Transformed => ofResult(() => applyTransform(template, { rows, ...transformScope(values, facts) }));

/**
 * Runs `write` and turns `invalid` into `bad_request`: the definition is at fault, and metrics count `invalid` as a call that
 * never ran.
 */
export function ofResult<T>(write: () => T): T {
  try {
    return write();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid') throw error;
    throw new AppError('bad_request', error.detail, { cause: error });
  }
}

/** Throws `not_countable` if the database cannot count and roll back the changes of a statement. */
async function refuseUncounted(source: Source, text: string): Promise<void> {
  const fault =
    source.cannotCount === undefined
      ? 'Sluice cannot count the rows that a statement changes on this kind of database, so this tool does not run here.'
      : await source.cannotCount(text);
  if (fault !== null) throw new AppError('not_countable', fault);
}

/** The pipeline slot of one statement, reserved on the first successful `take`. */
class Pipelined {
  slot: PipelineSlot | null = null;
  readonly #source: Source;
  readonly #statement: BoundStatement;

  constructor(source: Source, statement: BoundStatement) {
    this.#source = source;
    this.#statement = statement;
  }

  readonly take = (sessions: number): boolean => {
    this.slot ??= this.#source.pipelineSlot?.(this.#statement, sessions) ?? null;
    return this.slot !== null;
  };
}

/**
 * Turns `invalid` from a source into `database_unreachable`: the values are already checked, so the connection's settings are
 * wrong, and callers cannot fix those.
 */
function asFaultOfSource(error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== 'invalid') return error;
  return new AppError('database_unreachable', error.detail, { cause: error, reason: 'failed' });
}

async function timed(entry: Promise<void>, record: RunRecord | undefined): Promise<number> {
  const start = performance.now();
  try {
    await entry;
    return performance.now() - start;
  } finally {
    if (record !== undefined) record.wait_ms += performance.now() - start;
  }
}
