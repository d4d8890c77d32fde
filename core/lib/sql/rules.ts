import type { Lexeme } from './tokenize.ts';

/** What the token-level classifier knows of a dialect. All words in lower case. */
export interface TokenRules {
  /** First words of statements that read. */
  readonly reads: ReadonlySet<string>;
  /** First words of statements that no tool may hold, with the sentence that says so. */
  readonly forbidden: ReadonlyMap<string, string>;
  /** Reserved words that a reading statement never holds outside of names and strings. */
  readonly writing: ReadonlySet<string>;
  /** The closed list of functions without side effects. */
  readonly functions: ReadonlySet<string>;
  /** Words that stand before a bracket and call nothing. */
  readonly syntax: ReadonlySet<string>;
  /** Functions that no tool may call, and what each does. */
  readonly forbiddenFunctions: ReadonlyMap<string, string>;
  /** Tables that are files or settings in disguise, and what each does; the name is refused wherever it stands. */
  readonly forbiddenTables: ReadonlyMap<string, string>;
  /** The word behind which a statement names the program that keeps a table, and which of these are no way out. */
  readonly modules: { readonly behind: string; readonly isAllowed: (name: string) => boolean } | null;
  /** Functions that no reading tool may call, and what each does. */
  readonly writingFunctions: ReadonlyMap<string, string>;
  /** Those of them whose effects a rollback does not undo. */
  readonly lastingFunctions: ReadonlyMap<string, string>;
  /** SQLite's `pragma_…` tables and functions that only read; some others write. Null: there are none. */
  readonly pragmas: ReadonlySet<string> | null;
  /** A name without brackets may be a call: `a.b` is `b(a)`. */
  readonly every_name_calls: boolean;
  /** A string names a table where one has to stand. */
  readonly texts_name_tables: boolean;
  /** What else no tool may hold, in a sentence. */
  readonly forbiddenUse: (tokens: readonly Lexeme[]) => string | null;
  /** Functions that run the SQL text which they are given. */
  readonly runsSql: ReadonlySet<string>;
}

/** What a text was found to be; `reason` says why it is not read-only. */
export interface Verdict {
  readonly command: string;
  readonly read_only: boolean;
  readonly fixed: boolean;
  readonly forbidden: string | null;
  /** As `Classification` has it. */
  readonly lasting?: string;
  readonly reason: string | null;
}

/** What is said of a statement that calls such a function. */
export const lastingUse = (name: string, effect: string): string =>
  `The function ${name} ${effect}, which a rollback does not undo.`;

export const words = (list: string): ReadonlySet<string> => new Set(list.split(/\s+/).filter(Boolean));

/** Function names by what they do, turned into what each name does. */
export const denials = (byEffect: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(byEffect).flatMap(([effect, names]) => [...words(names)].map((name) => [name, effect] as const)));
