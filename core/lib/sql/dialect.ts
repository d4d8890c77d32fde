import type { Lexeme, Scanner } from './tokenize.ts';
import type { BoundType, Json } from './result.ts';
import type { PageRules } from './page-keys.ts';
import type { TokenRules, Verdict } from './rules.ts';
import type { LimitPlace } from './statement.ts';

/** A grammar of statements: everything in which reading, binding and judging them differs. */
export interface SqlDialect {
  /** What a compiled statement keeps of it. */
  readonly name: string;
  /** Splits text the way the database's own scanner does. */
  readonly scan: Scanner;
  /** How the n-th value is written. @param element which element of a list it is; -1: it is none. @param type the declared one. @param given it always has a value. */
  readonly placeholder: (number: number, element: number, type: BoundType, place?: LimitPlace, given?: boolean) => string;
  /** A value that is never left out is written in another way. */
  readonly tells_given?: boolean;
  /** What a LIMIT and an OFFSET without a value are bound to; null: the database reads NULL there as no limit. */
  readonly unlimited: Readonly<Record<LimitPlace, Json>> | null;
  /** A name that stands twice is sent once. */
  readonly reuses: boolean;
  /** Each use of a name is described as a placeholder of its own: the database may infer another type for it. */
  readonly describes_uses?: boolean;
  /** What `IN` looks into when a list is empty; null: a list is one value, compared by `= ANY`. */
  readonly no_row: string | null;
  /** How a list that is one value is compared where `= ANY` does not do that; null stands for a list that is empty. */
  readonly list?: (value: string | null, negated: boolean) => string;
  /** A question mark may be an operator. */
  readonly question_operator: boolean;
  /** A name may stand in brackets. */
  readonly bracket_names: boolean;
  /** The beginning of comments that the database reads as hints. */
  readonly hint: string | null;
  /** Null: results have no pages. */
  readonly pages: PageRules | null;
  /** Loaded when a statement is judged, which only the server does. */
  readonly classifier: () => Promise<Classifier>;
}

export interface Classifier {
  readonly rules: TokenRules;
  /** Judges by the database's own grammar what was judged by its tokens. */
  readonly judge?: (text: string, tokens: readonly Lexeme[], byTokens: Verdict) => Promise<Verdict>;
  /** A statement whose one business is to run a caller's text; asked only where that is the tool's point. */
  readonly runsText?: (tokens: readonly Lexeme[]) => boolean;
}
