import type { Insight } from '#core/contract/observe/insights.ts';
import { INSIGHT_RULE_NAMES } from '#core/contract/observe/insight-rules.ts';
import { isAdministrator } from '#core/identity/roles.ts';
import type { Handlers } from '#core/run.ts';
import { RULES } from './index.ts';
import { toInsight } from './insight.ts';
import { observe } from './observed.ts';

export const insightHandlers: Pick<Handlers, 'insights.list'> = {
  'insights.list': async ({ app, actor }, { period, rule, skip, limit }) => {
    const observed = { ...(await observe(app, period)), for_administrator: isAdministrator(actor) };
    const names = rule === undefined ? INSIGHT_RULE_NAMES : [rule];
    const found = await Promise.all(
      names.map(async (name) => (await RULES[name].find(app, observed)).map((one) => toInsight(name, one))),
    );
    const all = found.flat().toSorted(byWeight);
    return { items: all.slice(skip, skip + limit), total: all.length, period, since: observed.since };
  },
};

const SEVERITIES = ['error', 'warning', 'info'] as const satisfies readonly Insight['severity'][];

/** The most serious first, then what happened most often. */
const byWeight = (a: Insight, b: Insight): number =>
  SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
  b.evidence.count - a.evidence.count ||
  (a.id < b.id ? -1 : 1);
