/** The first code units of a text, but for half of a character. */
export const beginning = (text: string, length: number): string => text.slice(0, isHalfAt(text, length) ? length - 1 : length);

/** A text in so many code units, and one for what is left out at its end. */
export const cut = (text: string, most: number): string => (text.length <= most ? text : `${beginning(text, most)}…`);

/** A name in so many characters. Names that begin alike are told apart by their ends, so the middle is left out. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const tail = Math.floor((most - 1) / 2);
  const end = text.length - tail;
  return `${beginning(text, most - 1 - tail)}…${text.slice(isHalfAt(text, end) ? end + 1 : end)}`;
}

/** Whether a character of two code units stands around this place. */
const isHalfAt = (text: string, place: number): boolean => (text.codePointAt(place - 1) ?? 0) > 0xffff;

/** The first sentence of the first line, cut with an ellipsis where it is longer. @param longest in characters. */
export function firstSentence(text: string, longest: number): string {
  const line = text.trim().split('\n')[0] ?? '';
  const sentence = /^.*?[.!?](?=\s|$)/.exec(line)?.[0] ?? line;
  return sentence.length <= longest ? sentence : `${beginning(sentence, longest - 1).trimEnd()}…`;
}
