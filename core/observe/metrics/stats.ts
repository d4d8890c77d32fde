import type { Platform } from '#core/platform/platform.ts';
import { inArray, or } from 'drizzle-orm';
import type { CallerStats, Point, UsageStats } from '#core/contract/observe/metrics.ts';
import type { CallerKey } from '#core/contract/observe/metric-ranges.ts';
import type { CallOutcome } from '#core/contract/observe/outcomes.ts';
import { quantile } from '#core/lib/histogram.ts';
import { clientName } from '#core/observe/call-filters.ts';
import { addTotals, type CallerTotal, type NamedTotal, type Total } from './read.ts';
import { OTHER_ERRORS } from './sums.ts';

/** Statistics by name, sorted by name. */
export const toStats = (rows: readonly NamedTotal[]): Record<string, UsageStats> =>
  Object.fromEntries(
    rows.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map((row) => [row.name, { id: row.entity_id, ...toFigures(row) }]),
  );

const MOST_CALLERS = 200;

/** Statistics of callers, those with the most calls first. */
export async function toCallerStats(app: Platform, rows: readonly CallerTotal[], by: CallerKey): Promise<CallerStats[]> {
  const found = new Map<string | null, Total>();
  for (const row of rows) {
    const key = by === 'client' ? clientName(row.client) : row[by];
    const known = found.get(key);
    found.set(key, known === undefined ? row : addTotals(known, row));
  }
  const shown = [...found]
    .toSorted(([a, { calls: of_a }], [b, { calls: of_b }]) => of_b - of_a || ((a ?? '') < (b ?? '') ? -1 : 1))
    .slice(0, MOST_CALLERS);
  const names = await namesOf(
    app,
    shown.flatMap(([key]) => key ?? []),
    by,
  );
  return shown.map(([key, total]) => ({ key, name: key === null ? null : (names.get(key) ?? null), ...toFigures(total) }));
}

/** Names of the people and tokens that the keys identify, by id or username. People of other issuers have no name here. */
async function namesOf({ store }: Platform, keys: readonly string[], by: CallerKey): Promise<Map<string, string>> {
  const { people, mcp_tokens } = store.tables;
  if (by === 'client' || keys.length === 0) return new Map();
  if (by === 'token') {
    const rows = await store.db
      .select({ id: mcp_tokens.id, name: mcp_tokens.name })
      .from(mcp_tokens)
      .where(inArray(mcp_tokens.id, [...keys]));
    return new Map(rows.map(({ id, name }) => [id, name]));
  }
  const { id, username, display_name } = people;
  const rows = await store.db
    .select({ id, username, display_name })
    .from(people)
    .where(or(inArray(id, [...keys]), inArray(username, [...keys])));
  return new Map(rows.flatMap((row) => [row.id, row.username].map((key) => [key, row.display_name ?? row.username] as const)));
}

const toFigures = (row: Total) => {
  const { calls, errors, rows, bytes, last_called_at } = row;
  return { ...toPoint(row), error_rate: round(errors / calls), rows, bytes, last_called_at };
};

export function toPoint(row: Total | undefined): Omit<Point, 'timestamp'> {
  if (row === undefined) return { calls: 0, errors: 0, ran: 0, avg_ms: 0, p50_ms: 0, p95_ms: 0, p99_ms: 0, outcomes: {} };
  const { calls, errors, duration_ms, histogram } = row;
  const [p50_ms, p95_ms, p99_ms] = [quantile(histogram, 0.5), quantile(histogram, 0.95), quantile(histogram, 0.99)];
  // The histogram only contains calls that ran.
  const ran = Object.values(histogram).reduce((sum, counted) => sum + counted, 0);
  return {
    calls,
    errors,
    ran,
    avg_ms: ran === 0 ? 0 : round(duration_ms / ran),
    p50_ms,
    p95_ms,
    p99_ms,
    outcomes: outcomesOf(row),
  };
}

/** The outcomes that occurred. */
function outcomesOf(row: Total): Partial<Record<CallOutcome, number>> {
  const { calls, errors } = row;
  const others = OTHER_ERRORS.map((name) => [name, row[name]] as const);
  const tool_error = others.reduce((rest, [, count]) => rest - count, errors);
  const all = [['ok', calls - errors] as const, ['tool_error', tool_error] as const, ...others];
  return Object.fromEntries(all.filter(([, count]) => count > 0));
}

const round = (value: number): number => Math.round(value * 1_000) / 1_000;
