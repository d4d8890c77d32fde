export type Severity = 'low' | 'medium' | 'high';

/** The purpose of a text: a description or name, a statement, or a template, whose author may instruct a model. */
export type GuardTextKind = 'text' | 'sql' | 'template';

export interface Rule {
  readonly id: string;
  readonly family: string;
  readonly severity: Severity;
  /** ISO 639-1 codes. `*` when the rule matches characters, not words. */
  readonly languages: readonly string[];
  /** The kinds of text that the rule checks. */
  readonly kinds: readonly GuardTextKind[];
  readonly description: string;
}

export interface RuleDraft {
  readonly id: string;
  readonly severity: Severity;
  readonly description: string;
  /** Default: text and sql. */
  readonly kinds?: readonly GuardTextKind[];
}

/**
 * Matches when words of these lists occur in this order within one sentence. The number between two lists is the maximum number
 * of words in between (two ideographs or kana count as one word): `IGNORE 3 PRIOR 0 RULES`. `A|B` is either list.
 */
export interface PhraseRule extends RuleDraft {
  readonly phrases: readonly string[];
}

/** Matches characters of the text. Every repetition in `pattern` has an upper limit, so the work per position is limited. */
export interface PatternRule extends RuleDraft {
  /** The pattern is only tried when the text contains one of these lower-case literals. */
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

/** Words of one language by list, separated by commas. `*` ends a stem: `ignor*` matches every word with this beginning. */
export interface WordLists {
  readonly language: string;
  readonly lists: Readonly<Record<string, string>>;
}
