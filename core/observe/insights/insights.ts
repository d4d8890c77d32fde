import type { WithVersions } from '#core/versions/versions.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import { type WithLint, rankTools } from '#core/definitions/lint/lint-index.ts';
import { type InsightsApp, toInsight, type InsightDraft, type InsightRule } from './insight.ts';
import { invalidField } from '#core/errors.ts';
import type { Handlers } from '#core/context/context.ts';
import type { ToolOverlap, Insight } from '#core/contract/observe/insights.ts';
import type { Facts } from '#core/definitions/lint/facts.ts';
import type { Ranked } from '#core/lib/search/ranking.ts';
import { INSIGHT_RULE_NAMES } from '#core/contract/observe/insight-rules.ts';
import { RULES } from './index.ts';
import { observe, hasPassed, type Observed } from './observed.ts';

/** Share of the best score. A model may choose a tool with a higher score than this instead of the best one. */
const NEARLY = 0.8;

/** Maximum pairs in the response. */
const MOST_OVERLAPS = 5;

export const findHandlers: Pick<Handlers<WithSources & WithLint & WithVersions>, 'insights.find'> = {
  'insights.find': async ({ app }, { question, toolset, limit }) => {
    const ranked = await rankTools(app, question, toolset);
    if (ranked === null) throw invalidField('toolset', 'There is no enabled toolset of this name.');
    const [best] = ranked;
    const rivals =
      best === undefined ? [] : ranked.slice(1, 1 + MOST_OVERLAPS).filter(({ score }) => score >= NEARLY * best.score);
    return {
      items: ranked.slice(0, limit).map(({ found: { entity, texts }, score, matched }) => ({
        id: entity.id,
        name: entity.name,
        title: texts?.title ?? null,
        description: texts?.description ?? '',
        score: Math.round(score * 1_000) / 1_000,
        matched: [...matched],
      })),
      total: ranked.length,
      overlaps: best === undefined ? [] : rivals.map((rival) => overlap(best, rival)),
    };
  },
};

const quoted = (word: string): string => `“${word}”`;

export const insightHandlers: Pick<Handlers<InsightsApp>, 'insights.list'> = {
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

/** Findings of a rule that are checked again: those that happened most often. */
const MOST_CHECKED = 50;

async function stillTrue(app: InsightsApp, observed: Observed, rule: InsightRule): Promise<readonly InsightDraft[]> {
  const found = await rule.find(app, observed);
  if (rule.passes === undefined) return found;
  const sorted = found.toSorted((a, b) => b.evidence.count - a.evidence.count);
  const passed = await Promise.all(
    sorted.slice(0, MOST_CHECKED).map(({ entity, evidence }) => hasPassed(app, observed, entity.name, evidence)),
  );
  return sorted.filter((_, n) => passed[n] !== true);
}

const SEVERITIES = ['error', 'warning', 'info'] as const satisfies readonly Insight['severity'][];

/** Most severe first, then most frequent. */
const byWeight = (a: Insight, b: Insight): number =>
  SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
  b.evidence.count - a.evidence.count ||
  (a.id < b.id ? -1 : 1);

function overlap(one: Ranked<Facts>, other: Ranked<Facts>): ToolOverlap {
  const words = one.matched.filter((word) => other.matched.includes(word));
  const toolOf = ({ found: { entity }, matched }: Ranked<Facts>) => ({
    id: entity.id,
    name: entity.name,
    only: matched.filter((word) => !words.includes(word)),
  });
  const [a, b] = [one.found.name, other.found.name];
  const shared =
    words.length === 0 ? 'They match different words of the question.' : `Both have the words ${words.map(quoted).join(', ')}.`;
  const advice = `Say in each description when to use it and not the other, or merge them.`;
  return {
    tools: [toolOf(one), toolOf(other)],
    words,
    message: `${a} and ${b} fit the question almost equally well. ${shared} ${advice}`,
  };
}
