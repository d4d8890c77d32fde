import { isSent } from '#core/query/arguments.ts';
import { createRanking, type Ranking } from '#core/lib/search/ranking.ts';
import { termsOfTool } from '#core/lib/search/tool-terms.ts';
import type { ToolEntry } from './registry.ts';

/** Tools by name, ranked by how well they fit a question. */
type Tools = ReadonlyMap<string, ToolEntry>;
const rankings = new WeakMap<Tools, Ranking<ToolEntry>>();

export interface FoundTool {
  readonly entry: ToolEntry;
  readonly score: number;
}

/** The tools that fit a question best. The terms of a registry are counted at its first question. */
export function findTools(tools: Tools, question: string, limit: number): FoundTool[] {
  const ranking = rankings.get(tools) ?? rankingOf(tools);
  rankings.set(tools, ranking);
  const ranked = ranking.rank(question, ({ entity: a }, { entity: b }) => (a.name < b.name ? -1 : 1));
  return ranked.slice(0, limit).map(({ found, score }) => ({ entry: found, score: Math.round(score * 1_000) / 1_000 }));
}

function rankingOf(tools: Tools): Ranking<ToolEntry> {
  const ranking = createRanking<ToolEntry>();
  for (const entry of tools.values()) {
    const { name, listing, parameters } = entry.entity;
    const [title, description] = [listing['title'], listing['description']];
    const texts = parameters.filter(isSent).map((parameter) => `${parameter.name} ${parameter.description}`);
    ranking.add(entry, termsOfTool(name, textOr(title, null), textOr(description, ''), texts));
  }
  return ranking;
}

const textOr = <T>(value: unknown, otherwise: T): string | T => (typeof value === 'string' ? value : otherwise);
