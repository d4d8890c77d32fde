import type { FrozenQuery } from './frozen-query.ts';
import type { BoundStatement, QueryResult } from '#core/lib/sql/result.ts';
import type { Changes, PipelineSlot, SessionState, Source } from '#core/engines/shared/source.ts';
import type { StopSignal } from '#core/engines/shared/stop.ts';
import { AppError } from '#core/errors.ts';
import { createMasker, maskClass, type MaskFor, type Pseudonym } from './masks.ts';
import type { LimitedResult } from './limits.ts';
import { cutPage, cutRows, fetchLimits, pageStatements, type Position } from './pages.ts';
import { type Transformed, applyTransform } from '#core/lib/template/transform.ts';
import { bind } from '#core/lib/sql/bind.ts';
import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import { type Paging, pagingOf } from '#core/lib/sql/paging.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import type { CallFacts } from './value-sources.ts';
import { compileValues, type ResolveValues, transformScope, type ParameterValues } from './values.ts';

type Template = ReturnType<typeof parseTemplate>;

/** A frozen query with its arguments compiled; the template is parsed when it is first used. */
export interface QueryPlan {
  readonly query: FrozenQuery;
  /** The grammar of its statement. */
  readonly dialect: SqlDialect;
  readonly resolve: ResolveValues;
  /** Null: the rows have no pages. */
  readonly paging: Paging | null;
  readonly template: () => Template | null;
  /** Null: everybody sees the rows as they are. */
  readonly mask: MaskFor | null;
  /** What of a call its result depends on beside the values, as JSON. */
  readonly beside: (facts: CallFacts, session: SessionState | null) => readonly unknown[];
}

/** A slot of the queue of a connection: one call of those that run at once. `enter` answers nothing when one is free right now. */
export interface Slot {
  /**
   * @param pipeline has the call sent behind others while all `slots` are taken; false when there is no room.
   * @param holder in whose share of the waiting places it counts, asked for where it has to wait.
   */
  enter(signal?: StopSignal, pipeline?: (slots: number) => boolean, holder?: () => string): Promise<void> | undefined;
  /** Waits for a slot of its own, before everybody else: a call that was pipelined must run by itself. */
  again(signal?: StopSignal): Promise<void>;
  leave(): void;
  /** How many calls run at once. */
  slots(): number;
}

export interface Execution {
  readonly source: () => Promise<Source> | Source;
  /** The same when it is open by now; absent: the run is not pipelined. */
  readonly opened?: (() => Source | undefined) | undefined;
  /** Absent: no queue. */
  readonly slot?: Slot;
  /** In whose share of the waiting places it counts; absent: in one that all such runs have. */
  readonly holder?: () => string;
  readonly signal?: StopSignal;
  /** What the values were taken from, for the template and the masks. */
  readonly facts: CallFacts;
  /** What the database is told of the caller; null: nothing. */
  readonly session?: SessionState | null;
  /** For masks that hash. */
  readonly pseudonym: Pseudonym;
  /** What a writing statement did is rolled back where it would be committed. */
  readonly rollback?: boolean;
  /** With a writing statement: decides on its commit, once every changed row is counted. */
  readonly review?: ((changes: Changes) => boolean) | undefined;
  /** Where a page begins; absent: at the first row. */
  readonly after?: Position | null;
  /** Filled while it runs, so that a run which fails is told of as well. */
  readonly record?: RunRecord;
}

/** What is known of one run. Its times are of `performance.now()`; 0: it did not come so far. */
export interface RunRecord {
  wait_ms: number;
  query_from: number;
  query_to: number;
  /** What its statement wrote stays, whatever becomes of the result. */
  committed: boolean;
}

export interface ExecutionResult {
  readonly result: LimitedResult;
  readonly transformed: Transformed | null;
  readonly wait_ms: number;
  /** Where the next page begins; null: nothing follows, or there are no pages. */
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
 * Rejects as `Source.query`, `Slot.enter` and the template do.
 */
export async function runQuery(plan: QueryPlan, values: ParameterValues, run: Execution): Promise<ExecutionResult> {
  const { query, dialect, template, mask, paging } = plan;
  const page_of = paging === null ? null : pageStatements(paging, query, dialect, values, run.after ?? null);
  const statement = page_of?.first ?? bind(query.statement, dialect, values);
  const { slot, signal, record } = run;
  const opened = query.mode === 'fixed' ? run.opened?.() : undefined;
  const pipelined = opened?.pipelineSlot === undefined || slot === undefined ? null : new Pipelined(opened, statement);
  const entry = slot?.enter(signal, pipelined?.take, run.holder);
  let wait_ms = entry === undefined ? 0 : await timed(entry, record);
  let is_in = true;
  let result: QueryResult | null = null;
  if (record !== undefined) record.query_from = performance.now();
  const { mode, timeout_ms } = query;
  const { rollback = false } = run;
  let commits = mode === 'write' && !rollback && run.review === undefined;
  const review = run.review && ((changes: Changes): boolean => (commits = run.review?.(changes) === true));
  const own = { ...(rollback && { rollback }), ...(review !== undefined && { review }) };
  const limits = { mode, timeout_ms, ...fetchLimits(query, paging !== null), signal, session: run.session ?? undefined, ...own };
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
  // Nothing behind this line sees what is masked, but for the position of the next page.
  const masked = mask === null ? result : mask(result, run.facts.caller.identity.groups, run.pseudonym);
  const page =
    paging === null
      ? { result: cutRows(result, masked, query), next: null }
      : cutPage(result, masked, paging, query, run.after ?? null);
  const transformed = ofResult(() => {
    const parsed = template();
    return parsed && applyTransform(parsed, { rows: page.result.rows, ...transformScope(values, run.facts) });
  });
  return { ...page, transformed, wait_ms };
}

/** Writes a result. What is invalid about it is the definition, not the call, which metrics would take for one that never ran. */
export function ofResult<T>(write: () => T): T {
  try {
    return write();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid') throw error;
    throw new AppError('bad_request', error.detail, { cause: error });
  }
}

/** A write that nobody could count or undo is not even tried. */
async function refuseUncounted(source: Source, text: string): Promise<void> {
  const fault =
    source.cannotCount === undefined
      ? 'Sluice cannot count the rows that a statement changes on this kind of database, so this tool does not run here.'
      : await source.cannotCount(text);
  if (fault !== null) throw new AppError('not_countable', fault);
}

/** The pipeline slot of one statement, once there was one. */
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

/** The values are checked by now: what a source calls invalid are its own settings, which are no business of a caller. */
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
