import type { App } from '#core/platform/platform.ts';
import type { Insight } from '#core/contract/observe/insights.ts';
import { INSIGHT_RULE_NAMES } from '#core/contract/observe/insight-rules.ts';
import type { Handlers } from '#core/context/context.ts';
import { RULES } from './index.ts';
import { type Found, type InsightRule, toInsight } from './insight.ts';
import { hasPassed, observe, type Observed } from './observed.ts';

export const insightHandlers: Pick<Handlers, 'insights.list'> = {
  'insights.list': async ({ app, actor }, { period, rule, skip, limit }) => {
    const observed = { ...(await observe(app, period)), actor };
    const names = rule === undefined ? INSIGHT_RULE_NAMES : [rule];
    const found = await Promise.all(
      names.map(async (name) => (await stillTrue(app, observed, RULES[name])).map((one) => toInsight(name, one))),
    );
    const all = found.flat().toSorted(byWeight);
    return { items: all.slice(skip, skip + limit), total: all.length, period, since: observed.since };
  },
};

/** Findings of a rule that are looked at once more: those that happened most often. */
const MOST_CHECKED = 50;

async function stillTrue(app: App, observed: Observed, rule: InsightRule): Promise<readonly Found[]> {
  const found = await rule.find(app, observed);
  if (rule.passes === undefined) return found;
  const sorted = found.toSorted((a, b) => b.evidence.count - a.evidence.count);
  const passed = await Promise.all(
    sorted.slice(0, MOST_CHECKED).map(({ entity, evidence }) => hasPassed(app, observed, entity.name, evidence)),
  );
  return sorted.filter((_, n) => passed[n] !== true);
}

const SEVERITIES = ['error', 'warning', 'info'] as const satisfies readonly Insight['severity'][];

/** The most serious first, then what happened most often. */
const byWeight = (a: Insight, b: Insight): number =>
  SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
  b.evidence.count - a.evidence.count ||
  (a.id < b.id ? -1 : 1);
