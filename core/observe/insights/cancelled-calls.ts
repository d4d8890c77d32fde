import { behind, callsOf, type InsightDraft, type InsightRule, percent, quantileOf, seconds } from './insight.ts';
import { callsOfTool } from './observed.ts';

const LEAST = 3;
const LEAST_SHARE = 0.1;
const SAMPLE = 50;
const MOST_TOOLS = 20;

/** Many calls of a tool are cancelled because callers stop waiting. */
export const cancelledCalls: InsightRule = {
  name: 'cancelled-calls',
  passes: true,
  find: async (app, observed) => {
    const suspects = observed.tools
      .flatMap((tool) => {
        const used = observed.usage.get(tool.name);
        if (used === undefined || used.cancelled < LEAST || used.cancelled < LEAST_SHARE * used.calls) return [];
        return [{ tool, used }];
      })
      .toSorted((a, b) => b.used.cancelled - a.used.cancelled)
      .slice(0, MOST_TOOLS);
    return Promise.all(
      suspects.map(async ({ tool, used }): Promise<InsightDraft> => {
        const { id, name } = tool;
        const cancelled = await callsOfTool(app, observed, tool, SAMPLE, 'cancelled');
        const after = quantileOf(
          cancelled.map(({ duration_ms }) => duration_ms),
          0.5,
        );
        const of = cancelled.length < used.cancelled ? `the last ${callsOf(cancelled.length)}` : 'them';
        // The counts of a period may be stored for longer than its calls.
        const soon = cancelled.length === 0 ? '' : `, half of ${of} within ${seconds(after)}`;
        return {
          entity: { kind: 'tool', id, name },
          message: `${callsOf(used.cancelled)} of ${name} were cancelled (${percent(used.cancelled, used.calls)})${soon}.`,
          advice:
            'Callers do not wait so long: make the statement faster, return less at once, or lower the timeout so that they get an answer.',
          logs: { name, outcome: 'cancelled' },
          ...behind(cancelled, used.cancelled, used.calls),
        };
      }),
    );
  },
};
