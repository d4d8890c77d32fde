import type { Lexeme } from './tokenize.ts';

/** The token-level classifier's rules of a dialect. All words are in lower case. */
export interface TokenRules {
  /** First words of statements that read. */
  readonly reads: ReadonlySet<string>;
  /** First words of statements that no tool may contain, with the sentence for the author. */
  readonly forbidden: ReadonlyMap<string, string>;
  /** Reserved words that a reading statement never contains outside names and strings. */
  readonly writing: ReadonlySet<string>;
  /** The closed list of functions without side effects. */
  readonly functions: ReadonlySet<string>;
  /** Words before a parenthesis that are not calls. */
  readonly syntax: ReadonlySet<string>;
  /** Functions that no tool may call, and what each does. */
  readonly forbiddenFunctions: ReadonlyMap<string, string>;
  /** Tables that access files or settings, and what each does. The name is refused in any position. */
  readonly forbiddenTables: ReadonlyMap<string, string>;
  /** The word that precedes the name of a storage module, and which modules are allowed. */
  readonly modules: { readonly behind: string; readonly isAllowed: (name: string) => boolean } | null;
  /** Functions that no reading tool may call, and what each does. */
  readonly writingFunctions: ReadonlyMap<string, string>;
  /** Functions whose effects a rollback does not undo. */
  readonly lastingFunctions: ReadonlyMap<string, string>;
  /** SQLite's read-only `pragma_…` tables and functions. Others write. Null: the dialect has none. */
  readonly pragmas: ReadonlySet<string> | null;
  /** True when a name without parentheses can be a call: `a.b` is `b(a)`. */
  readonly every_name_calls: boolean;
  /** True when a string can name a table where a table is expected. */
  readonly texts_name_tables: boolean;
  /** Why a tool may not contain the statement for any other reason, as a sentence. */
  readonly forbiddenUse: (tokens: readonly Lexeme[]) => string | null;
  /** Functions that run SQL text in an argument. */
  readonly runsSql: ReadonlySet<string>;
}

/** The classification of a text; `reason` says why it is not read-only. */
export interface Verdict {
  readonly command: string;
  readonly read_only: boolean;
  readonly fixed: boolean;
  readonly forbidden: string | null;
  /** As `Classification` has it. */
  readonly lasting?: string;
  readonly reason: string | null;
}

/** The sentence about a statement that calls such a function. */
export const lastingUse = (name: string, effect: string): string =>
  `The function ${name} ${effect}, which a rollback does not undo.`;

export const words = (list: string): ReadonlySet<string> => new Set(list.split(/\s+/).filter(Boolean));

/** Inverts a map from effects to function names. */
export const denials = (byEffect: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(byEffect).flatMap(([effect, names]) => [...words(names)].map((name) => [name, effect] as const)));
