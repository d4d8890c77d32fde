import type { ToolOverlap } from '#core/contract/observe/insights.ts';
import { rankTools } from '#core/definitions/lint/lint-index.ts';
import { invalidField } from '#core/errors.ts';
import type { Facts } from '#core/definitions/lint/facts.ts';
import type { Ranked } from '#core/lib/search/ranking.ts';
import type { Handlers } from '#core/context/context.ts';

/** Of the best score: a tool above it may well be chosen in the place of the best one. */
const NEARLY = 0.8;
/** Pairs that are told. */
const MOST_OVERLAPS = 5;

export const findHandlers: Pick<Handlers, 'insights.find'> = {
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

const quoted = (word: string): string => `“${word}”`;
