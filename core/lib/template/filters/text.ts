import { type Budget, fault } from '../budget.ts';
import { firstAt, lastBefore, lengthOf, partsOf, sliceOf } from '../characters.ts';
import { onText, type Operation, whole, word } from '../operation.ts';
import { isNone, isTruthy } from '../values.ts';

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&#34;', "'": '&#39;' };
const escape = onText([], (text) => text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character));
const capitalized = (text: string): string => {
  const first = firstAt(text, 0);
  return first.toUpperCase() + text.slice(first.length).toLowerCase();
};

export const TEXT_FILTERS: Readonly<Record<string, Operation>> = {
  string: onText([], (text) => text),
  safe: onText([], (text) => text),
  upper: onText([], (text) => text.toUpperCase()),
  lower: onText([], (text) => text.toLowerCase()),
  capitalize: onText([], capitalized),
  title: onText([], (text) => text.replace(/[^-\s({[<]+/g, capitalized)),
  trim: onText(['chars'], (text, [chars]) => strip(text, chars, true, true)),
  replace: onText(['old', 'new', 'count'], (text, [old, replacement, count], budget) =>
    replace(budget, text, word(old, '', 'old'), word(replacement, '', 'new'), whole(count, -1, 'count', -1, 1_000_000)),
  ),
  truncate: onText(['length', 'killwords', 'end', 'leeway'], truncate),
  wordcount: onText([], wordCount),
  wordwrap: onText(['width', 'break_long_words', 'wrapstring'], wordWrap),
  indent: onText(['width', 'first', 'blank'], indent),
  center: onText(['width'], center),
  striptags: onText([], (text) => withoutTags(text).replace(/\s+/g, ' ').trim()),
  nl2br: onText([], (text) => text.replace(/\r\n|\n/g, '<br>\n')),
  urlencode: onText([], (text) => urlEncode(text, 'path')),
  escape,
  e: escape,
  forceescape: escape,
};

/** Percent-encodes all characters except letters, digits and `_.-~`. In a path `/` stays, and in a query a space becomes `+`. */
export function urlEncode(text: string, part: 'path' | 'query'): string {
  const encoded = encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return part === 'path' ? encoded.replaceAll('%2F', '/') : encoded.replaceAll('%20', '+');
}

export function strip(text: string, chars: unknown, start: boolean, end: boolean): string {
  if (isNone(chars)) return start && end ? text.trim() : start ? text.trimStart() : text.trimEnd();
  const dropped = new Set(word(chars, '', 'chars').slice(0, 200));
  let from = 0;
  let to = text.length;
  if (start) for (let one = firstAt(text, from); from < to && dropped.has(one); one = firstAt(text, from)) from += one.length;
  if (end) for (let one = lastBefore(text, to); to > from && dropped.has(one); one = lastBefore(text, to)) to -= one.length;
  return text.slice(from, to);
}

/** Charges for the result before creating it. A negative `count` replaces all. */
export function replace(budget: Budget, text: string, old: string, replacement: string, count: number): string {
  const most = count < 0 ? Number.POSITIVE_INFINITY : count;
  if (old === '') {
    const places = Math.min(lengthOf(budget, text) + 1, most);
    budget.items(places);
    budget.text(text.length + places * replacement.length);
    let output = '';
    let index = 0;
    for (const character of text) output += (index++ < places ? replacement : '') + character;
    return output + (index < places ? replacement : '');
  }
  let found = occurrences(budget, text, old, most);
  budget.text(text.length + found * (replacement.length - old.length));
  if (found === 0) return text;
  let output = '';
  let from = 0;
  for (; found > 0; found--) {
    const at = text.indexOf(old, from);
    output += text.slice(from, at) + replacement;
    from = at + old.length;
  }
  return output + text.slice(from);
}

function occurrences(budget: Budget, text: string, pattern: string, most: number): number {
  budget.search(text.length, pattern.length);
  let found = 0;
  for (let at = text.indexOf(pattern); at >= 0 && found < most; at = text.indexOf(pattern, at + pattern.length)) found++;
  budget.step(found);
  return found;
}

/** Splits at a separator that is not empty. The parts are counted first. */
export function splitAt(budget: Budget, text: string, separator: string): string[] {
  budget.items(1 + occurrences(budget, text, separator, Number.POSITIVE_INFINITY));
  return text.split(separator);
}

function truncate(text: string, [length, killwords, end, leeway]: readonly unknown[], budget: Budget): string {
  const most = whole(length, 255, 'length', 0, 1_000_000);
  const mark = word(end, '...', 'end');
  if (lengthOf(budget, text) <= most + whole(leeway, 5, 'leeway', 0, 1_000_000)) return text;
  const mark_length = lengthOf(budget, mark);
  if (mark_length > most) throw fault(`"length" must be at least ${mark_length}, the length of "end".`);
  budget.text(mark.length);
  const shortened = sliceOf(budget, text, 0, most - mark_length);
  const space = shortened.lastIndexOf(' ');
  return (isTruthy(killwords) || space < 0 ? shortened : shortened.slice(0, space)) + mark;
}

function wordCount(text: string): number {
  const words = /[\p{L}\p{N}\p{M}_]+/gu;
  let count = 0;
  while (words.test(text)) count++;
  return count;
}

function wordWrap(text: string, [width, break_long_words, wrapstring]: readonly unknown[], budget: Budget): string {
  const most = whole(width, 79, 'width', 1, 10_000);
  const longest = isNone(break_long_words) || isTruthy(break_long_words) ? most : text.length;
  const lines: string[] = [];
  const add = (line: string) => budget.items(lines.push(line) > budget.limits.items ? lines.length : 1);
  for (const line of splitAt(budget, text, '\n')) {
    let line_text = '';
    let line_width = 0;
    for (let rest of line.split(' ')) {
      let width = lengthOf(budget, rest);
      if (line_text !== '' && line_width + 1 + width > most) {
        add(line_text);
        line_text = '';
      }
      if (width > longest) {
        const parts = [...partsOf(budget, rest, most)];
        rest = parts.pop() ?? '';
        parts.forEach(add);
        width -= parts.length * most;
      }
      line_width = line_text === '' ? width : line_width + 1 + width;
      line_text = line_text === '' ? rest : `${line_text} ${rest}`;
    }
    add(line_text);
  }
  const between = word(wrapstring, '\n', 'wrapstring');
  budget.text(text.length + lines.length * between.length);
  return lines.join(between);
}

function indent(text: string, [width, first, blank]: readonly unknown[], budget: Budget): string {
  const margin =
    typeof width === 'string' && !/^\d+$/.test(width.slice(0, 10)) ? width : ' '.repeat(whole(width, 4, 'width', 0, 1_000));
  const lines = splitAt(budget, text, '\n');
  budget.text(text.length + lines.length * margin.length);
  return lines
    .map((line, index) => ((index === 0 ? isTruthy(first) : line !== '' || isTruthy(blank)) ? margin + line : line))
    .join('\n');
}

function center(text: string, [width]: readonly unknown[], budget: Budget): string {
  const most = whole(width, 80, 'width', 0, 10_000);
  const space = most - lengthOf(budget, text);
  if (space <= 0) return text;
  budget.text(most);
  const left = Math.floor(space / 2) + (space & most & 1);
  return ' '.repeat(left) + text + ' '.repeat(space - left);
}

/** Takes linear time, unlike a regular expression: a `<` without an end stops the search. */
function withoutTags(text: string): string {
  let output = '';
  let from = 0;
  for (let at = text.indexOf('<'); at >= 0; at = text.indexOf('<', from)) {
    const comment = text.startsWith('<!--', at);
    const end = text.indexOf(comment ? '-->' : '>', at);
    if (end < 0) break;
    output += text.slice(from, at);
    from = end + (comment ? 3 : 1);
  }
  return output + text.slice(from);
}
