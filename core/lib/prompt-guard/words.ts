import { fold } from './normalise.ts';
import { ANY, createTrie, NONE, ROOT, type Trie } from './trie.ts';
import { isIdeograph, type Hit, type Units } from './units.ts';

/** The units of an entry: single ideographs and whole words. */
const UNIT =
  /[\u3005\u3041-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\s\u3005\u3041-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+/g;

export interface Lexicon {
  /** Hits in order of their start. If two entries of one list start at the same unit, only the longer one. */
  find(text: Units, steps?: { count: number }): Hit[];
  /** The words of a text without spaces, as far as they are entries of four or more letters. */
  segment(run: string): string[];
}

/** A list that no rule uses. Its entries hide shorter entries that start at the same word. */
const HARMLESS = 'HARMLESS';

const SPACE = 32;

/** @param entries list name and entry. */
export function createLexicon(entries: readonly (readonly [list: string, entry: string])[]): Lexicon {
  const all = createTrie(entries.map(([list, entry]) => [pathOf(entry), list]));
  const solid = createTrie(
    entries.flatMap(([list, entry]) => {
      const letters = fold(entry).replaceAll(/[^a-z]/g, '');
      return entry.includes(' ') || letters.length < 4 ? [] : [[codesOf(letters), list]];
    }),
  );
  return {
    find: (text, steps = { count: 0 }) => find(all, text, steps),
    segment: (run) => segment(solid, run),
  };
}

const codesOf = (letters: string): number[] => Array.from({ length: letters.length }, (_, n) => letters.charCodeAt(n));
const STAR = '*'.charCodeAt(0);

/** Words are separated by a space, ideographs are not. */
function pathOf(entry: string): number[] {
  const path: number[] = [];
  let after_ideograph = true;
  for (const unit of fold(entry).match(UNIT) ?? []) {
    const ideograph = isIdeograph(unit.charCodeAt(0));
    if (path.length > 0 && !(after_ideograph && ideograph)) path.push(SPACE);
    path.push(...codesOf(unit).map((code) => (code === STAR ? ANY : code)));
    after_ideograph = ideograph;
  }
  return path;
}

function find(trie: Trie, text: Units, steps: { count: number }): Hit[] {
  const hits: Hit[] = [];
  const marks = new Map<number, Hit[]>();
  for (const mark of text.marks) {
    const found = marks.get(mark.start);
    if (found === undefined) marks.set(mark.start, [mark]);
    else found.push(mark);
  }
  for (let start = 0; start < text.units.length; start += 1) {
    steps.count += 1;
    const marked = marks.get(start);
    if (marked !== undefined) hits.push(...marked);
    if (trie.next(ROOT, text.units[start]?.charCodeAt(0) ?? Number.NaN) === NONE) continue;
    const longest = new Map<string, number>();
    walk(trie, text, start, longest, steps);
    if (longest.size === 0) continue;
    const harmless = longest.get(HARMLESS) ?? 0;
    for (const [list, end] of longest) if (end > harmless) hits.push({ list, start, end });
  }
  return hits;
}

/** Follows one word after another. Entries have at most seven words, so the work per start is limited. */
function walk(trie: Trie, text: Units, start: number, longest: Map<string, number>, steps: { count: number }): void {
  let heads = [ROOT];
  for (let index = start; heads.length > 0 && index < text.units.length; index += 1) {
    if (text.sentence[index] !== text.sentence[start]) return;
    const word = text.units[index] ?? '';
    const ideograph = isIdeograph(word.charCodeAt(0));
    const ended: number[] = [];
    for (const head of heads) {
      let here = head;
      for (let offset = 0; here !== NONE; offset += 1) {
        steps.count += 1;
        const any = offset > 0 ? trie.next(here, ANY) : NONE;
        if (any !== NONE) ended.push(any);
        if (offset >= word.length) {
          ended.push(here);
          break;
        }
        here = trie.next(here, word.charCodeAt(offset));
      }
    }
    const next: number[] = [];
    for (const end of ended) {
      for (const list of trie.namesAt(end)) longest.set(list, index + 1);
      if (ideograph && trie.goesOn(end)) next.push(end);
      const spaced = trie.next(end, SPACE);
      if (spaced !== NONE) next.push(spaced);
    }
    heads = next;
  }
}

function segment(solid: Trie, run: string): string[] {
  const words: string[] = [];
  let rest = '';
  for (let start = 0; start < run.length;) {
    let here = ROOT;
    let end = 0;
    for (let offset = start; here !== NONE && offset <= run.length; offset += 1) {
      if (solid.namesAt(here).length > 0) end = offset;
      here = solid.next(here, run.charCodeAt(offset));
    }
    if (end === 0) {
      rest += run[start] ?? '';
      start += 1;
      continue;
    }
    if (rest !== '') words.push(rest);
    rest = '';
    words.push(run.slice(start, end));
    start = end;
  }
  if (rest !== '') words.push(rest);
  return words;
}

interface Slot {
  readonly previous: number;
  readonly gap: number;
  /** Index of the rule whose phrase ends with this slot. */
  readonly rule: number;
}

export interface Phrases {
  /** Indexes of the rules with a matching phrase, in one pass over the hits. */
  match(text: Units, hits: readonly Hit[], steps?: { count: number }): Set<number>;
}

/** @param rules the phrases of each rule, by the indexes that `match` returns. */
export function createPhrases(rules: readonly (readonly string[])[]): Phrases {
  const slots: Slot[] = [];
  const waiting = new Map<string, number[]>();
  rules.forEach((phrases, rule) => {
    for (const phrase of phrases) {
      const parts = phrase.split(' ');
      for (let index = 0; index < parts.length; index += 2) {
        const id = slots.length;
        slots.push({
          previous: index === 0 ? -1 : id - 1,
          gap: index === 0 ? 0 : Number(parts[index - 1]),
          rule: index === parts.length - 1 ? rule : -1,
        });
        for (const list of (parts[index] ?? '').split('|')) {
          waiting.set(list, [...(waiting.get(list) ?? []), id]);
        }
      }
    }
  });
  return {
    match(text, hits, steps = { count: 0 }) {
      const found = new Set<number>();
      // The two latest ends of each slot, because the latest may overlap the current hit.
      const latest = new Int32Array(slots.length).fill(-1);
      const before = new Int32Array(slots.length).fill(-1);
      const near = (end: number, start: number, gap: number) =>
        end > 0 &&
        end <= start &&
        text.sentence[end - 1] === text.sentence[start] &&
        (text.position[start] ?? 0) - (text.position[end] ?? 0) <= gap;
      for (const hit of hits) {
        for (const id of waiting.get(hit.list) ?? []) {
          steps.count += 1;
          const slot = slots[id];
          if (slot === undefined) continue;
          const { previous, gap, rule } = slot;
          const follows =
            previous < 0 || near(latest[previous] ?? -1, hit.start, gap) || near(before[previous] ?? -1, hit.start, gap);
          if (!follows) continue;
          if (rule >= 0) found.add(rule);
          before[id] = latest[id] ?? -1;
          latest[id] = hit.end;
        }
      }
      return found;
    },
  };
}
