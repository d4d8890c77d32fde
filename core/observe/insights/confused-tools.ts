import type { Platform } from '#core/platform/platform.ts';
import { and, eq, inArray, sql } from 'drizzle-orm';
import { termsOfTools } from '#core/definitions/lint/lint-index.ts';
import { overlapOf } from '#core/lib/search/ranking.ts';
import { behind, type InsightDraft, type InsightRule, percent, times } from './insight.ts';
import { type Observed, type ObservedCall, readCalls } from './observed.ts';

const LEAST = 3;
/** Tools that are less similar must follow each other more often, to rule out chance. */
const ALIKE = 0.2;
const LEAST_UNLIKE = 8;
/** A later call belongs to another task. */
const AT_ONCE_MS = 60_000;
/** Maximum failed calls whose next call is read. */
const MOST_FOLLOWED = 300;

interface CallPair {
  readonly from: ObservedCall;
  readonly to: ObservedCall;
}

/**
 * Callers call one tool, get an error or nothing, and at once succeed with another one: the descriptions do not distinguish them.
 */
export const confusedTools: InsightRule = {
  name: 'confused-tools',
  find: async (app, observed) => {
    const { by_name } = observed;
    const steps = [...stepsOf(observed.recent), ...(await failedSteps(app, observed))].filter((step) =>
      isConfusion(step, by_name),
    );
    const distinct = [...new Map(steps.map((step) => [step.from.id, step])).values()];
    const pairs = Map.groupBy(distinct, ({ from, to }) => [from.name, to.name].toSorted().join('\n'));
    const often = [...pairs.values()].filter((some) => some.length >= LEAST);
    if (often.length === 0) return [];
    const terms = await termsOfTools(app, [...new Set(often.flatMap(([step]) => (step ? [step.from.name, step.to.name] : [])))]);
    return often.flatMap((some): InsightDraft[] => {
      // The tool that was called first most often comes first.
      const firsts = [...Map.groupBy(some, ({ from }) => from.name).values()].toSorted((a, b) => b.length - a.length);
      const { from, to } = firsts[0]?.[0] ?? {};
      const [tool, other] = [by_name.get(from?.name ?? ''), by_name.get(to?.name ?? '')];
      const [one, two] = [terms.get(tool?.name ?? ''), terms.get(other?.name ?? '')];
      if (tool === undefined || other === undefined || one === undefined || two === undefined) return [];
      const overlap = overlapOf(one, two);
      if (overlap < ALIKE && some.length < LEAST_UNLIKE) return [];
      const back = firsts[1]?.length ?? 0;
      const also = back === 0 ? '' : `, and ${times(back)} the other way round`;
      return [
        {
          entity: { kind: 'tool', id: tool.id, name: tool.name },
          other: { id: other.id, name: other.name },
          about: other.id,
          message: `Callers got an error or no rows from ${tool.name} and at once succeeded with ${other.name}, ${times(some.length - back)}${also}. Their names and texts share ${percent(overlap, 1)} of their words.`,
          advice: `Say in both descriptions when to use the tool and when the other one, or merge them.`,
          logs: { name: tool.name },
          ...behind(
            some.map((step) => step.from),
            some.length,
            observed.usage.get(tool.name)?.calls ?? 0,
          ),
        },
      ];
    });
  },
};

/** A tool that writes returns no rows anyway. */
const isConfusion = ({ from, to }: CallPair, by_name: Observed['by_name']): boolean =>
  from.name !== to.name &&
  (from.error === null
    ? from.rows === 0 && by_name.get(from.name)?.read_only === true
    : from.error === 'invalid' || from.error === 'sql_error') &&
  to.error === null &&
  to.rows > 0 &&
  Date.parse(to.timestamp) - Date.parse(from.timestamp) <= AT_ONCE_MS;

/** Consecutive calls of a session. @param calls newest first. */
function stepsOf(calls: readonly ObservedCall[]): CallPair[] {
  const later = new Map<number, ObservedCall>();
  return calls.flatMap((from) => {
    if (from.session_id === null) return [];
    const to = later.get(from.session_id);
    later.set(from.session_id, from);
    return to === undefined ? [] : [{ from, to }];
  });
}

/** Failed calls, each with the next call of its session. */
async function failedSteps(app: Platform, { failed, recent }: Observed): Promise<CallPair[]> {
  const { request_logs: table } = app.store.tables;
  const seen = new Set(recent.map(({ id }) => id));
  const followed = failed.filter(({ id, session_id }) => session_id !== null && !seen.has(id)).slice(0, MOST_FOLLOWED);
  if (followed.length === 0) return [];
  const next = sql<
    number | string | null
  >`(select n.id from request_logs n where n.session_id = request_logs.session_id and n.timestamp >= request_logs.timestamp and n.id > request_logs.id order by n.timestamp, n.id limit 1)`;
  const rows = await app.store.db
    .select({ id: table.id, next })
    .from(table)
    .where(
      inArray(
        table.id,
        followed.map(({ id }) => id),
      ),
    );
  const next_of = new Map(rows.flatMap((row) => (row.next === null ? [] : [[row.id, Number(row.next)] as const])));
  if (next_of.size === 0) return [];
  const calls = await readCalls(
    app,
    and(eq(table.kind, 'tool'), inArray(table.id, [...new Set(next_of.values())])),
    MOST_FOLLOWED,
  );
  const by_id = new Map(calls.map((call) => [call.id, call]));
  return followed.flatMap((from) => {
    const to = by_id.get(next_of.get(from.id) ?? -1);
    return to === undefined ? [] : [{ from, to }];
  });
}
