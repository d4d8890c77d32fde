/** The first `length` code units of a text, without a trailing half of a surrogate pair. */
export const beginning = (text: string, length: number): string => text.slice(0, isHalfAt(text, length) ? length - 1 : length);

/** Cuts a text to `most` code units, including an ellipsis. */
export const cut = (text: string, most: number): string => (text.length <= most ? text : `${beginning(text, most)}…`);

/** Shortens a name to `most` characters. Similar names differ at their ends, so the middle is omitted. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const tail = Math.floor((most - 1) / 2);
  const end = text.length - tail;
  return `${beginning(text, most - 1 - tail)}…${text.slice(isHalfAt(text, end) ? end + 1 : end)}`;
}

/** Whether an index is in the middle of a surrogate pair. */
const isHalfAt = (text: string, index: number): boolean => (text.codePointAt(index - 1) ?? 0) > 0xffff;

/** The first sentence of the first line, cut with an ellipsis when it is longer. @param longest in characters. */
export function firstSentence(text: string, longest: number): string {
  const line = text.trim().split('\n')[0] ?? '';
  const sentence = /^.*?[.!?](?=\s|$)/.exec(line)?.[0] ?? line;
  return sentence.length <= longest ? sentence : `${beginning(sentence, longest - 1).trimEnd()}…`;
}
