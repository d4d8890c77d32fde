import { type Terms, termsOf } from './ranking.ts';

/** Weight of a search term by where it occurs. */
const WEIGHTS = { name: 3, title: 2, description: 1, parameter: 0.5 } as const;

/** The search terms of a tool. @param parameters the text of each one. */
export const termsOfTool = (name: string, title: string | null, description: string, parameters: readonly string[]): Terms =>
  termsOf([
    { text: name, weight: WEIGHTS.name },
    { text: title ?? '', weight: WEIGHTS.title },
    { text: description, weight: WEIGHTS.description },
    ...parameters.map((text) => ({ text, weight: WEIGHTS.parameter })),
  ]);
