import { behind, type InsightDraft, type InsightRule, number, quantileOf, seconds, times } from './insight.ts';
import { callsOfTool } from './observed.ts';

const SAMPLE = 200;
const LEAST = 5;
const LEAST_TIMEOUTS = 3;
/** Average duration above which the calls of a tool are read. One slow call of a second in twenty is enough. */
const SUSPECT_MS = 50;
const MOST_TOOLS = 30;
const SLOW_MS = 1_000;
const NEAR_TIMEOUT = 0.5;
const Q = 0.95;

/** Statements take long, or nearly as long as the timeout. */
export const slowStatement: InsightRule = {
  name: 'slow-statement',
  passes: true,
  find: async (app, observed) => {
    const { tools, usage, by_id } = observed;
    const suspects = tools
      .flatMap((tool) => {
        const used = usage.get(tool.name);
        if (used === undefined) return [];
        // Other failed calls may not have reached the database.
        const ran = used.calls - used.errors + used.timeout;
        if (ran < LEAST_TIMEOUTS) return [];
        return used.duration_ms / ran >= SUSPECT_MS || used.timeout > 0 ? [{ tool, used }] : [];
      })
      .toSorted((a, b) => b.used.duration_ms - a.used.duration_ms)
      .slice(0, MOST_TOOLS);
    const found = await Promise.all(
      suspects.map(async ({ tool, used }): Promise<InsightDraft[]> => {
        const { id, name } = tool;
        const timeout = tool.timeout_ms ?? by_id.get(tool.connection_id)?.query_timeout_ms ?? Infinity;
        const calls = (await callsOfTool(app, observed, tool, SAMPLE))
          .filter(({ error }) => error === null || error === 'timeout')
          .map((call) => ({ ...call, took: call.error === null ? call.database_ms : Math.max(call.database_ms, timeout) }));
        const p95 = quantileOf(
          calls.map(({ took }) => took),
          Q,
        );
        const limit = Math.min(SLOW_MS, NEAR_TIMEOUT * timeout);
        const is_slow = calls.length >= LEAST && p95 >= limit;
        if (!is_slow && used.timeout < LEAST_TIMEOUTS) return [];
        const slow = calls.filter(({ took }) => took >= limit);
        // The calls with a timeout are older than all calls that were read.
        if (slow.length === 0) return [];
        const timed_out = used.timeout === 0 ? '' : ` and timed out ${times(used.timeout)}`;
        return [
          {
            entity: { kind: 'tool', id, name },
            message: `95% of the last ${number(calls.length)} statements of ${name} took up to ${seconds(p95)} in the database${timed_out}; the timeout is ${seconds(timeout)}.`,
            advice:
              'Look at its plan (Plan beside the preview in the builder, explain_sql for agents): a full scan of a large table wants an index or a narrower condition.',
            logs: { name },
            ...behind(slow, slow.length, calls.length),
          },
        ];
      }),
    );
    return found.flat();
  },
};
