/** Texts that people paste into a shell or a file. */

export const TOKEN_PLACE = 'YOUR_TOKEN';
export const CLIENT_PLACES = { client_id: 'CLIENT_ID', client_secret: 'CLIENT_SECRET' } as const;

/** What somebody has to replace in a text before it works. */
export const placeholdersIn = (text: string): readonly string[] =>
  [TOKEN_PLACE, ...Object.values(CLIENT_PLACES)].filter((place) => text.includes(place));

/** A word quoted for a POSIX shell. */
export const shellQuote = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
