import type { Lexeme, Scanner } from './tokenize.ts';
import type { BoundType, Json } from './result.ts';
import type { PageRules } from './page-keys.ts';
import type { TokenRules, Verdict } from './rules.ts';
import type { LimitClause } from './statement.ts';

/** A grammar of statements: everything that differs in parsing, binding and classifying them. */
export interface SqlDialect {
  /** Stored with compiled statements. */
  readonly name: string;
  /** Splits text as the database's scanner does. */
  readonly scan: Scanner;
  /**
   * Writes the n-th placeholder. @param element its index in a list; -1: not a list. @param type the declared type. @param given
   * it always has a value.
   */
  readonly placeholder: (number: number, element: number, type: BoundType, place?: LimitClause, given?: boolean) => string;
  /** True when the placeholder of a value that is always given is written differently. */
  readonly tells_given?: boolean;
  /** The values of a LIMIT and an OFFSET that are not given. Null: the database reads NULL as no limit. */
  readonly unlimited: Readonly<Record<LimitClause, Json>> | null;
  /** True when a name that occurs twice is sent once. */
  readonly reuses: boolean;
  /** True when each use of a name is described as a separate placeholder, because the database may infer different types. */
  readonly describes_uses?: boolean;
  /** The subquery for `IN` with an empty list. Null: a list is one value, compared by `= ANY`. */
  readonly no_row: string | null;
  /** Compares with a list that is one value, where `= ANY` cannot; null stands for an empty list. */
  readonly list?: (value: string | null, negated: boolean) => string;
  /** True when a question mark can be an operator. */
  readonly question_operator: boolean;
  /** True when brackets can quote a name. */
  readonly bracket_names: boolean;
  /** Prefix of comments that the database reads as hints. */
  readonly hint: string | null;
  /** Null: results have no pages. */
  readonly pages: PageRules | null;
  /** Loaded on demand; only the server classifies statements. */
  readonly classifier: () => Promise<Classifier>;
}

export interface Classifier {
  readonly rules: TokenRules;
  /** Refines the verdict of the tokens with the database's grammar. */
  readonly refine?: (text: string, tokens: readonly Lexeme[], byTokens: Verdict) => Promise<Verdict>;
  /** True when the only purpose of a statement is to run a caller's text. Only called for tools that allow it. */
  readonly runsText?: (tokens: readonly Lexeme[]) => boolean;
}
