/** Programs by path from the root, in place of what the files hold. */
export type Texts = ReadonlyMap<string, string>;

/** Programs that differ from those of the repository. */
export interface Change {
  readonly title: string;
  readonly texts: Texts;
  /** Test files that are the likeliest to notice it. */
  readonly likely: readonly string[];
}
