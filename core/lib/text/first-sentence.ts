import { beginning } from './shorten.ts';

/** The first sentence of the first line, cut with an ellipsis where it is longer. @param longest in characters. */
export function firstSentence(text: string, longest: number): string {
  const line = text.trim().split('\n')[0] ?? '';
  const sentence = /^.*?[.!?](?=\s|$)/.exec(line)?.[0] ?? line;
  return sentence.length <= longest ? sentence : `${beginning(sentence, longest - 1).trimEnd()}…`;
}
