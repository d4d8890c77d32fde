export type Severity = 'low' | 'medium' | 'high';

/** The purpose of a text: a description or name, a statement, or a template, whose author may instruct a model. */
export type GuardTextKind = 'text' | 'sql' | 'template';

export interface Rule {
  readonly id: string;
  readonly family: string;
  readonly severity: Severity;
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

/** Matches characters of the text. Every repetition in `pattern` has an upper limit, so the work per position is limited. */
export interface PatternRule extends RuleDraft {
  /** The pattern is only tried when the text contains one of these lower-case literals. */
  readonly needs: readonly string[];
  readonly pattern: RegExp;
}

export interface Family {
  readonly family: string;
  readonly patterns?: readonly PatternRule[];
  /** Rules that code reports by id (the model, hidden characters, encodings). */
  readonly reported?: readonly RuleDraft[];
}
