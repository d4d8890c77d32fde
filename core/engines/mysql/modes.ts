/** SQL modes that change where a text or a name ends. */
export const GRAMMAR_MODES = ['ANSI_QUOTES', 'NO_BACKSLASH_ESCAPES'] as const;
export type GrammarMode = (typeof GRAMMAR_MODES)[number];

/** The name of the grammar that the modes of a session select. Other modes do not affect the grammar. */
export const grammarName = (modes: readonly string[]): string =>
  ['mysql', ...GRAMMAR_MODES.filter((mode) => modes.includes(mode))].join(' ');
