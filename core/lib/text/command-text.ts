/** Texts that people paste into a shell or a file. */

export const TOKEN_PLACEHOLDER = 'YOUR_TOKEN';
export const CLIENT_PLACEHOLDERS = { client_id: 'CLIENT_ID', client_secret: 'CLIENT_SECRET' } as const;

/** The placeholders that a person has to replace before a text works. */
export const placeholdersIn = (text: string): readonly string[] =>
  [TOKEN_PLACEHOLDER, ...Object.values(CLIENT_PLACEHOLDERS)].filter((placeholder) => text.includes(placeholder));

/** A word quoted for a POSIX shell. */
export const shellQuote = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
