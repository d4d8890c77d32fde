export type Values = Readonly<Record<string, unknown>>;

/** Three versions of a record: the common base, this person's, and the stored one. */
export interface MergeInput {
  readonly base: Values;
  readonly mine: Values;
  readonly theirs: Values;
  /** Labels of fields; fields without a label show their name. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Who stored `theirs`. */
  readonly title?: string;
}

export type Merged = { readonly kind: 'theirs' } | { readonly kind: 'merged'; readonly values: Values };

export interface MergeField {
  readonly name: string;
  readonly base: unknown;
  readonly mine: unknown;
  readonly theirs: unknown;
  /** Both sides changed it to different values, so a person has to choose. Otherwise the one change is taken. */
  readonly contested: boolean;
  readonly take: 'mine' | 'theirs' | 'both';
  /** The merged list, when both sides changed different entries. */
  readonly both?: readonly unknown[];
}

/** Every field that at least one side changed. */
export function compareThree({ base, mine, theirs }: MergeInput): MergeField[] {
  return Object.keys(mine).flatMap((name): MergeField[] => {
    const changed_mine = !same(base[name], mine[name]);
    const changed_theirs = !same(base[name], theirs[name]);
    if (!changed_mine && !changed_theirs) return [];
    const field = { name, base: base[name], mine: mine[name], theirs: theirs[name] };
    if (!changed_mine || !changed_theirs || same(mine[name], theirs[name])) {
      return [{ ...field, contested: false, take: changed_mine ? 'mine' : 'theirs' }];
    }
    const both = mergeLists(field);
    if (both === undefined) return [{ ...field, contested: true, take: 'mine' }];
    return [{ ...field, contested: false, both, take: same(both, mine[name]) ? 'mine' : 'both' }];
  });
}

/** Whether `mine` contains all changes of `theirs`: the stored version then comes from this form's save, whose answer was lost. */
export const isDecided = (input: MergeInput): boolean =>
  compareThree(input).every(({ take, contested }) => take === 'mine' && !contested);

/** The stored version, with the fields taken from `mine`. */
export function mergeThree(input: MergeInput, taken: Readonly<Record<string, 'mine' | 'theirs'>> = {}): Values {
  const merged: Record<string, unknown> = { ...input.mine };
  for (const { name, take, both } of compareThree(input)) {
    const from = taken[name] ?? take;
    merged[name] = from === 'both' ? both : input[from][name];
  }
  return merged;
}

type Three<T> = Readonly<Record<'base' | 'mine' | 'theirs', T>>;

/** Merges two lists by the names of their entries; undefined when both sides changed the same entry or the order. */
function mergeLists(lists: Three<unknown>): readonly unknown[] | undefined {
  const [base, mine, theirs] = [byName(lists.base), byName(lists.mine), byName(lists.theirs)];
  if (base === undefined || mine === undefined || theirs === undefined) return undefined;
  const common = (list: Entries) => [...list.keys()].filter((name) => base.has(name) && mine.has(name) && theirs.has(name));
  if (!same(common(mine), common(base)) && !same(common(theirs), common(base))) return undefined;
  const [first, second] = same(common(mine), common(base)) ? [theirs, mine] : [mine, theirs];
  const merged: unknown[] = [];
  for (const name of new Set([...first.keys(), ...second.keys(), ...base.keys()])) {
    const [was, my, their] = [base.get(name), mine.get(name), theirs.get(name)];
    const chosen = same(my, was) ? their : my;
    if (!same(my, was) && !same(their, was) && !same(my, their)) return undefined;
    if (chosen !== undefined) merged.push(chosen);
  }
  return merged;
}

type Entries = ReadonlyMap<string, unknown>;

/** The entries of a list of strings or named objects; undefined for other lists, or with duplicate names. */
function byName(list: unknown): Entries | undefined {
  if (!Array.isArray(list)) return undefined;
  const entries = new Map<string, unknown>();
  for (const entry of list) {
    const named = typeof entry === 'object' && entry !== null && 'name' in entry ? (entry.name as unknown) : entry;
    if (typeof named !== 'string' || entries.has(named)) return undefined;
    entries.set(named, entry);
  }
  return entries;
}

/** Whether two values are equal JSON, regardless of key order. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = Object.entries(a).filter(([, value]) => value !== undefined);
  const right = new Map(Object.entries(b).filter(([, value]) => value !== undefined));
  return left.length === right.size && left.every(([key, value]) => right.has(key) && same(value, right.get(key)));
}
