import type { Platform } from '#core/platform/platform.ts';
import { and, eq, exists, gte, sql } from 'drizzle-orm';
import { behind, type InsightDraft, type InsightRule, number, percent } from './insight.ts';
import { callsOfTool, type MeasuredCall, type Observed, type ObservedTool } from './observed.ts';

const SAMPLE = 100;
const LEAST = 5;
const LEAST_SHARE = 0.8;
/** Results contain whole rows, so one that ends at the token limit has slightly fewer tokens. */
const FULL = 0.85;
/** Tools whose calls are read: those with the most calls. */
const MOST_TOOLS = 50;
/** These return types use only one row, however many the statement returns. */
const ONE_ROW = new Set(['row', 'value', 'image', 'audio']);

const LIMITS = {
  rows: { field: 'max_rows', unit: 'rows', most: 1_000_000, grows: 5 },
  bytes: { field: 'max_bytes', unit: 'bytes', most: 512 * 1024 * 1024, grows: 2 },
  tokens: { field: 'max_tokens', unit: 'tokens', most: 10_000_000, grows: 2 },
} as const;
type Limited = keyof typeof LIMITS;

/** Nearly every result ends at a limit: callers see a part and may think it is complete. */
export const truncatedResults: InsightRule = {
  name: 'truncated-results',
  find: async (app, observed) => {
    const names = await namesTruncated(app, observed);
    const suspects = observed.tools
      .filter(({ name, connection_id }) => names.has(name) && observed.by_id.has(connection_id))
      // Pages are meant to be partial results.
      .filter(({ page_by, return_type }) => page_by.length === 0 && !ONE_ROW.has(return_type))
      .toSorted((a, b) => callsIn(observed, b) - callsIn(observed, a))
      .slice(0, MOST_TOOLS);
    const found = await Promise.all(
      suspects.map(async (tool): Promise<InsightDraft[]> => {
        const calls = await callsOfTool(app, observed, tool, SAMPLE, 'ok');
        const cut = calls.filter(({ truncated }) => truncated);
        if (cut.length < LEAST || cut.length < LEAST_SHARE * calls.length) return [];
        return [toFound(tool, limitOf(tool, cut, observed), cut, calls.length)];
      }),
    );
    return found.flat();
  },
};

const callsIn = ({ usage }: Observed, { name }: ObservedTool): number => usage.get(name)?.calls ?? 0;

/** Tools with a truncated result in the period. */
async function namesTruncated({ store }: Platform, { since }: Observed): Promise<Set<string>> {
  const { tools, request_logs: calls } = store.tables;
  const its = store.db
    .select({ id: calls.id })
    .from(calls)
    // The same expression as in the partial index.
    .where(and(sql`truncated`, eq(calls.name, tools.name), gte(calls.timestamp, since)));
  const rows = await store.db.select({ name: tools.name }).from(tools).where(exists(its));
  return new Set(rows.map(({ name }) => name));
}

/** The limit at which most of these results ended. Calls do not record how close they came to the limit in bytes. */
function limitOf(
  { max_rows, max_bytes, max_tokens, connection_id }: ObservedTool,
  cut: readonly MeasuredCall[],
  { by_id }: Observed,
): { by: Limited; limit: number } {
  const connection = by_id.get(connection_id);
  const most_rows = max_rows ?? connection?.max_rows ?? Infinity;
  const most = (ended: (call: MeasuredCall) => boolean) => cut.filter(ended).length * 2 > cut.length;
  if (most(({ rows }) => rows >= most_rows)) return { by: 'rows', limit: most_rows };
  if (max_tokens !== null && most(({ tokens }) => tokens >= FULL * max_tokens)) return { by: 'tokens', limit: max_tokens };
  return { by: 'bytes', limit: max_bytes ?? connection?.max_bytes ?? Infinity };
}

function toFound(
  tool: ObservedTool,
  { by, limit }: { by: Limited; limit: number },
  calls: readonly MeasuredCall[],
  of: number,
): InsightDraft {
  const { id, name, version } = tool;
  const { field, unit, most, grows } = LIMITS[by];
  const raised = Math.min(most, limit * grows);
  return {
    entity: { kind: 'tool', id, name },
    about: by,
    message: `${percent(calls.length, of)} of the last ${number(of)} results of ${name} reached the limit of ${number(limit)} ${unit}, so callers see only a part.`,
    advice: 'Raise the limit, let callers go on page by page (Page by), or narrow the statement so that a result fits.',
    logs: { name, outcome: 'ok' },
    ...(raised > limit && {
      fix: {
        label: `Raise the limit to ${number(raised)} ${unit}`,
        entity: { kind: 'tool', id },
        changes: { version, [field]: raised },
      },
    }),
    ...behind(calls, calls.length, of),
  };
}
