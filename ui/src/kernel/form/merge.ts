export type Values = Readonly<Record<string, unknown>>;

/** Three versions of one record: where both began, what this person has, what is stored by now. */
export interface MergeInput {
  readonly base: Values;
  readonly mine: Values;
  readonly theirs: Values;
  /** What a field is called; fields without a label keep their name. */
  readonly labels?: Readonly<Record<string, string>>;
}

export type Merged = { readonly kind: 'theirs' } | { readonly kind: 'merged'; readonly values: Values };

export interface MergeField {
  readonly name: string;
  readonly base: unknown;
  readonly mine: unknown;
  readonly theirs: unknown;
  /** Both changed it, to different values: somebody has to choose. Else the one change is taken. */
  readonly contested: boolean;
  readonly take: 'mine' | 'theirs';
}

/** Every field that at least one side changed. */
export function compareThree({ base, mine, theirs }: MergeInput): MergeField[] {
  return Object.keys(mine).flatMap((name) => {
    const changed_mine = !same(base[name], mine[name]);
    const changed_theirs = !same(base[name], theirs[name]);
    if (!changed_mine && !changed_theirs) return [];
    const contested = changed_mine && changed_theirs && !same(mine[name], theirs[name]);
    return [
      { name, base: base[name], mine: mine[name], theirs: theirs[name], contested, take: changed_mine ? 'mine' : 'theirs' },
    ];
  });
}

/** Whether mine has all that was changed in theirs: a save whose answer was lost is stored, and so nobody else's. */
export const isDecided = (input: MergeInput): boolean =>
  compareThree(input).every(({ take, contested }) => take === 'mine' && !contested);

/** What is stored, with the fields that are taken from mine. */
export function mergeThree(input: MergeInput, taken: Readonly<Record<string, 'mine' | 'theirs'>> = {}): Values {
  const merged: Record<string, unknown> = { ...input.mine };
  for (const { name, take } of compareThree(input)) {
    merged[name] = (taken[name] ?? take) === 'mine' ? input.mine[name] : input.theirs[name];
  }
  return merged;
}

/** Whether two values are the same JSON, whatever the order of their keys. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = Object.entries(a).filter(([, value]) => value !== undefined);
  const right = new Map(Object.entries(b).filter(([, value]) => value !== undefined));
  return left.length === right.size && left.every(([key, value]) => right.has(key) && same(value, right.get(key)));
}
