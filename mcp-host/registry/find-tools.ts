import { isSent } from '#core/query/arguments.ts';
import { createRanking, type Ranking } from '#core/lib/search/ranking.ts';
import { termsOfTool } from '#core/lib/search/tool-terms.ts';
import type { ToolEntry } from './registry.ts';

/** The tool of toolsets with `find_tools`. A deployed tool of this name comes first. */
export const FIND_TOOLS = 'find_tools';

/** Most tools in one answer. */
export const MOST_FOUND = 10;

/** As `tools/list` sends it. */
export const FIND_TOOLS_ITEM = JSON.stringify({
  name: FIND_TOOLS,
  title: 'Find tools',
  description:
    'Finds the tools of this server that fit a question best, with their descriptions and input schemas. Use it when it is not clear which tool to call.',
  inputSchema: {
    type: 'object',
    properties: {
      question: { type: 'string', minLength: 1, maxLength: 1_000, description: 'What is needed, as a sentence' },
      limit: { type: 'integer', minimum: 1, maximum: MOST_FOUND, default: MOST_FOUND, description: 'Most tools in the answer' },
    },
    required: ['question'],
  },
  outputSchema: {
    type: 'object',
    properties: {
      tools: {
        type: 'array',
        description: 'The best one first',
        items: {
          type: 'object',
          properties: {
            name: { type: 'string' },
            title: { type: 'string' },
            description: { type: 'string' },
            inputSchema: { type: 'object' },
            score: { type: 'number', description: 'Only comparable within one answer' },
          },
          required: ['name', 'description', 'inputSchema', 'score'],
        },
      },
    },
    required: ['tools'],
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
});

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
