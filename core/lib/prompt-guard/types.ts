export type Severity = 'low' | 'medium' | 'high';

/** What a text is for: a description or name, a statement, or a template whose author may instruct a model. */
export type GuardTextKind = 'text' | 'sql' | 'template';

export interface Rule {
  readonly id: string;
  readonly family: string;
  readonly severity: Severity;
  /** ISO 639-1 codes; `*` when the rule reads characters, not words. */
  readonly languages: readonly string[];
  /** Kinds of text that the rule judges. */
  readonly kinds: readonly GuardTextKind[];
  readonly description: string;
}

export interface RuleDraft {
  readonly id: string;
  readonly severity: Severity;
  readonly description: string;
  /** text and sql unless said. */
  readonly kinds?: readonly GuardTextKind[];
}

/**
 * Matches when the named word lists occur in this order within one sentence; the number between two of them is the largest
 * count of words that may stand between (two ideographs or kana count as one word): `IGNORE 3 PRIOR 0 RULES`.
 * `A|B` is either list.
 */
export interface PhraseRule extends RuleDraft {
  readonly phrases: readonly string[];
}

/** Matches characters of the text. Every repetition in `pattern` has an upper bound, so one position costs a constant. */
export interface PatternRule extends RuleDraft {
  /** The pattern is tried only when one of these lower-case literals occurs. */
  readonly needs: readonly string[];
  readonly pattern: RegExp;
}

export interface Family {
  readonly family: string;
  readonly phrases?: readonly PhraseRule[];
  readonly patterns?: readonly PatternRule[];
  /** Rules that code reports by id (hidden characters, encodings). */
  readonly reported?: readonly RuleDraft[];
}

/** Entries of one language by list name, separated by commas; `*` ends a stem: `ignor*` matches every word that begins so. */
export interface WordLists {
  readonly language: string;
  readonly lists: Readonly<Record<string, string>>;
}
