import { regexContaining } from './letter-case.ts';

/** The words of a search: what is found has all of them, in any order and whatever their case. */
export const searchWords = (search: string): string[] => search.split(/\s+/u).filter((word) => word !== '');

/** Whether every word of a search is part of one of the texts; one without words finds everything. */
export function isFound(search: string, ...texts: readonly (string | null | undefined)[]): boolean {
  // Stored and typed texts may have their accents apart.
  const read = texts.map((text) => (text ?? '').normalize('NFC'));
  return searchWords(search.normalize('NFC')).every((word) => {
    const pattern = new RegExp(regexContaining(word));
    return read.some((text) => pattern.test(text));
  });
}
