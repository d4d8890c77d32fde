import { anyWords, isItem, isNothing, isSame, isSecret, type Item, listed } from './value-words.ts';

/** One sentence of a difference. */
export interface Line {
  readonly kind: 'added' | 'removed' | 'changed';
  readonly text: string;
  /** Records that the sentence names by their ids. */
  readonly records?: { readonly kind: RecordKind; readonly ids: readonly string[] };
  /** Long texts, shown as a diff of lines below the sentence. */
  readonly texts?: { readonly before: string; readonly after: string };
}

export type RecordKind = 'connection' | 'tool' | 'resource' | 'prompt';

/** Describes one member of an object. */
export interface Part {
  readonly label: string;
  readonly say?: (value: unknown) => string;
  /** A complete sentence, without the name of the object. */
  readonly became?: (now: unknown, old: unknown) => string | undefined;
}

/** Names and describes the objects of a list. */
export interface ItemWords {
  /**
   * Name of the object.
   * @param index its index in the list.
   */
  readonly name: (item: Item, index: number) => string;
  /** A short description of a new object; empty: the name is enough. */
  readonly whole: (item: Item) => string;
  readonly gone?: (name: string, item: Item) => string;
  readonly parts: Readonly<Record<string, Part>>;
}

const LONG = 80;
export const isLongText = (value: unknown): boolean => typeof value === 'string' && (value.includes('\n') || value.length > LONG);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The change of one member, as the end of a sentence. */
function partLine({ label, say = anyWords, became }: Part, before: unknown, now: unknown): Omit<Line, 'kind'> {
  const special = became?.(now, before);
  if (special !== undefined) return { text: special };
  if (isSecret(now)) return { text: `${label} ${isNothing(before) ? 'set' : 'replaced'}` };
  if (isLongText(before) || isLongText(now))
    return { text: `${label} changed`, texts: { before: textOf(before), after: textOf(now) } };
  if (isNothing(now)) return { text: `${label} removed` };
  return { text: isNothing(before) ? `${label} ${say(now)}` : `${label} ${say(before)} → ${say(now)}` };
}

/** The members of one object that differ. @param name of the object; empty: the sentences stand alone. */
export function partLines(parts: Readonly<Record<string, Part>>, before: Item, now: Item, name = ''): Line[] {
  return Object.entries(parts).flatMap(([member, part]) => {
    const [old, value] = [before[member], now[member]];
    if (isSame(old, value) || (isNothing(old) && isNothing(value))) return [];
    const { text, ...rest } = partLine(part, old, value);
    return [{ kind: 'changed', text: name === '' ? text : `${name}: ${text}`, ...rest }];
  });
}

const itemsOf = (value: unknown): readonly Item[] => (Array.isArray(value) ? value.filter(isItem) : []);

/** The changes of a list of objects: one sentence for each added or removed object and for each changed member. */
export function itemLines(words: ItemWords, before: unknown, now: unknown): Line[] {
  const [old, fresh] = [itemsOf(before), itemsOf(now)].map(
    (items) => new Map(items.map((item, index) => [words.name(item, index), item])),
  ) as [Map<string, Item>, Map<string, Item>];
  const lines: Line[] = [];
  for (const [name, item] of fresh) {
    const known = old.get(name);
    if (known === undefined) lines.push({ kind: 'added', text: joined(name, words.whole(item)), ...longOf(words, item) });
    else lines.push(...partLines(words.parts, known, item, name));
  }
  for (const [name, item] of old) {
    if (!fresh.has(name)) lines.push({ kind: 'removed', text: words.gone?.(name, item) ?? name });
  }
  if (lines.length === 0 && !isSame([...old.keys()], [...fresh.keys()]))
    lines.push({ kind: 'changed', text: `order is now ${[...fresh.keys()].join(', ')}` });
  return lines;
}

const joined = (name: string, whole: string): string => (whole === '' ? name : `${name}: ${whole}`);

/** The long texts of a new object are shown as texts. */
function longOf({ parts }: ItemWords, item: Item): Pick<Line, 'texts'> {
  const long = Object.keys(parts).find((member) => isLongText(item[member]));
  return long === undefined ? {} : { texts: { before: '', after: textOf(item[long]) } };
}

const textsOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(anyWords) : []);

/** The changes of a list of values: added and removed ones. */
export function valueLines(before: unknown, now: unknown, say: (value: string) => string = (value) => value): Line[] {
  const [old, fresh] = [textsOf(before), textsOf(now)];
  const lines: Line[] = [
    ...fresh.filter((value) => !old.includes(value)).map((value) => ({ kind: 'added' as const, text: say(value) })),
    ...old.filter((value) => !fresh.includes(value)).map((value) => ({ kind: 'removed' as const, text: say(value) })),
  ];
  return lines.length > 0 ? lines : [{ kind: 'changed', text: `order is now ${fresh.map(say).join(', ')}` }];
}

/** The changes of an object with custom keys, such as variables: one sentence per key. */
export function recordLines(before: unknown, now: unknown, say = anyWords, nameOf = (name: string) => name): Line[] {
  const [old, fresh] = [isItem(before) ? before : {}, isItem(now) ? now : {}];
  return [...new Set([...Object.keys(fresh), ...Object.keys(old)])].flatMap((name): Line[] => {
    const [was, is] = [old[name], fresh[name]];
    if (isSame(was, is)) return [];
    const label = nameOf(name);
    if (is === undefined || is === null) return [{ kind: 'removed', text: label }];
    if (isSecret(is))
      return [{ kind: was === undefined ? 'added' : 'changed', text: `${label} ${was === undefined ? 'set' : 'replaced'}` }];
    if (was === undefined || was === null) return [{ kind: 'added', text: `${label}: ${say(is)}` }];
    return [{ kind: 'changed', text: `${label}: ${say(was)} → ${say(is)}` }];
  });
}

/** The added and removed values of a list, within one sentence. */
export function movedWords(now: unknown, old: unknown, more: string, fewer: string): string | undefined {
  const [fresh, known] = [textsOf(now), textsOf(old)];
  const [came, went] = [fresh.filter((value) => !known.includes(value)), known.filter((value) => !fresh.includes(value))];
  const parts = [came.length > 0 && `${more} ${listed(came)}`, went.length > 0 && `${fewer} ${listed(went)}`].filter(Boolean);
  return parts.length === 0 ? undefined : parts.join(', ');
}
