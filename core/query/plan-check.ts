import type { PlanEstimate, RunOptions, Source } from '#core/engines/shared/source.ts';
import { AppError } from '#core/errors.ts';
import type { BoundStatement, Json } from '#core/lib/sql/result.ts';
import { isSent } from './arguments.ts';
import type { FrozenQuery } from './frozen-query.ts';
import type { ParameterValues } from './values.ts';

/**
 * Compares the plan of a statement with the limits of its tool, before it runs. Returns a sentence for the answer when the plan is
 * above a limit that warns, otherwise null. Rejects with `plan_too_large` when the limit refuses.
 */
export type PlanCheck = (
  source: Source,
  statement: BoundStatement,
  values: ParameterValues,
  options: PlanOptions,
) => Promise<string | null>;

type PlanOptions = Pick<RunOptions, 'timeout_ms' | 'session' | 'signal'>;

/** Milliseconds for the estimate, with the time to open a session. A plan that takes longer is not checked. */
const ESTIMATE_MS = 2_000;
/** Milliseconds for which an estimate counts. */
const FRESH_MS = 60_000;
const MOST_KNOWN = 256;
/** Characters of a key. Longer texts and values are estimated with every call. */
const LONGEST_KEY = 4_000;

/** Null: the query has no limits. */
export function createPlanCheck(query: FrozenQuery): PlanCheck | null {
  const { max_plan_rows = Infinity, max_plan_cost = Infinity, plan_limit = 'warn' } = query;
  if (max_plan_rows === Infinity && max_plan_cost === Infinity) return null;
  const limits: Limits = { max_plan_rows, max_plan_cost };
  /** Shapes of arguments that were within the limits. Other values of the same shape are not estimated again. */
  const within = createKnown<true>();
  /** What exceeded a limit, by the values themselves, so that narrower values of the same shape are estimated. */
  const above = createKnown<PlanEstimate>();

  return async (source, statement, values, options) => {
    const shape = shapeOf(statement, options);
    if (within.get(shape) === true) return null;
    const exact = `${shape} ${JSON.stringify(statement.values)}`;
    let estimate = above.get(exact) ?? null;
    if (estimate === null) {
      estimate = await estimateOf(source, statement, options);
      if (estimate === null) return null;
      if (isWithin(estimate, limits)) {
        within.set(shape, true);
        return null;
      }
      above.set(exact, estimate);
    }
    const sentence = `${exceeding(estimate, limits)} ${narrowing(query, values)}`;
    if (plan_limit === 'warn') return sentence;
    throw new AppError('plan_too_large', `The statement was not run. ${sentence}`);
  };
}

interface Limits {
  readonly max_plan_rows: number;
  readonly max_plan_cost: number;
}

const isWithin = ({ rows, cost }: PlanEstimate, { max_plan_rows, max_plan_cost }: Limits): boolean =>
  (rows ?? 0) <= max_plan_rows && (cost ?? 0) <= max_plan_cost;

/** Null: the database did not answer in time. The statement then runs, and says what is wrong with it. */
async function estimateOf(source: Source, statement: BoundStatement, options: PlanOptions): Promise<PlanEstimate | null> {
  if (source.estimate === undefined) return null;
  const { session, signal } = options;
  const timeout_ms = Math.min(ESTIMATE_MS, options.timeout_ms);
  try {
    return await source.estimate(statement, { ...PLAN_SIZE, mode: 'read', timeout_ms, session, signal });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return error.code === 'sql_error' ? UNKNOWN : null;
  }
}

const PLAN_SIZE = { max_rows: 2_000, max_bytes: 4 * 1024 * 1024 };
/** The database does not explain such a statement. */
const UNKNOWN: PlanEstimate = { rows: null, cost: null };

function exceeding({ rows, cost }: PlanEstimate, { max_plan_rows, max_plan_cost }: Limits): string {
  const parts = [
    ...(rows !== null && rows > max_plan_rows
      ? [`about ${number(rows)} rows in one step, and this tool is limited to ${number(max_plan_rows)}`]
      : []),
    ...(cost !== null && cost > max_plan_cost
      ? [`a cost of about ${number(cost)}, and this tool is limited to ${number(max_plan_cost)}`]
      : []),
  ];
  return `The database expects ${parts.join('; it also expects ')}.`;
}

/** What a caller can change: arguments that were left out, or else the values. */
function narrowing({ parameters, passthrough }: FrozenQuery, values: ParameterValues): string {
  if (passthrough === true) return 'Add a filter to the statement.';
  const sent = parameters.filter(isSent).map(({ name }) => name);
  const unset = sent.filter((name) => (values[name] ?? null) === null);
  if (unset.length > 0) return `To narrow the call, set ${unset.slice(0, MOST_NAMES).join(' or ')}.`;
  if (sent.length > 0)
    return `To narrow the call, send values of ${sent.slice(0, MOST_NAMES).join(' or ')} that match fewer rows.`;
  return 'The tool has no arguments that narrow it.';
}

const MOST_NAMES = 8;

const number = (value: number): string => Math.round(value).toLocaleString('en');

/** The text, which values are set, the sizes of lists, and the role. */
function shapeOf({ text, values }: BoundStatement, { session }: PlanOptions): string {
  const set = values.map((value) => (value === null ? '0' : Array.isArray(value) ? `[${sizeOf(value)}]` : '1')).join('');
  return `${session?.role ?? ''} ${set} ${text}`;
}

const sizeOf = (list: readonly Json[]): number => Math.ceil(Math.log2(list.length + 1));

/** The newest entries. */
function createKnown<Value>() {
  const entries = new Map<string, { readonly value: Value; readonly until: number }>();
  return {
    get(key: string): Value | null {
      const found = entries.get(key);
      if (found === undefined) return null;
      if (found.until > performance.now()) return found.value;
      entries.delete(key);
      return null;
    },
    set(key: string, value: Value): void {
      if (key.length > LONGEST_KEY) return;
      const oldest = entries.keys().next();
      if (entries.size >= MOST_KNOWN && !oldest.done) entries.delete(oldest.value);
      entries.set(key, { value, until: performance.now() + FRESH_MS });
    },
  };
}
