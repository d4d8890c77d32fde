import { REDACTED } from '#core/contract/history.ts';
import type { Marks } from '#core/contract/marks.ts';
import { exactTime } from '#ui/src/kernel/dates.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import { bytes, duration, minutesWord, plural } from '#ui/src/kernel/words.ts';
import type * as v from 'valibot';

export type Item = Readonly<Record<string, unknown>>;

export const isItem = (value: unknown): value is Item => typeof value === 'object' && value !== null && !Array.isArray(value);
export const isNothing = (value: unknown): boolean => value === null || value === undefined || value === '';
export const isSecret = (value: unknown): boolean => value === REDACTED;

/** Members by their names: one that only stands elsewhere is no difference. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isItem(value)) return value ?? null;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, inOrder(member)]),
  );
}

export const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(inOrder(a)) === JSON.stringify(inOrder(b));

/** `a`, `a and b`, `a, b and c`. */
export const listed = (words: readonly string[], last = 'and'): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;

/** A number with its unit, as the field says it. */
const WITH_UNIT: Readonly<Record<string, (value: number) => string>> = {
  ms: duration,
  s: (value) => duration(value * 1_000),
  bytes,
  min: minutesWord,
  minutes: minutesWord,
  '%': (value) => `${num(value)}%`,
  h: (value) => plural(value, 'hour'),
};

function numberWords(value: number, unit: string | undefined): string {
  if (unit === undefined) return String(value);
  const known = WITH_UNIT[unit];
  if (known !== undefined) return known(value);
  const [noun = '', ...rest] = unit.split(' ');
  return [num(value), value === 1 ? noun.replace(/s$/, '') : noun, ...rest].join(' ');
}

/** One value of a caller or of a definition, such as a default or an argument. */
export function anyWords(value: unknown): string {
  if (isNothing(value)) return 'empty';
  if (isSecret(value)) return 'hidden';
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(anyWords).join(', ');
  if (!isItem(value)) return String(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return members.length === 0 ? 'none' : members.map(([name, member]) => `${name} ${anyWords(member)}`).join(', ');
}

/** What a field shows of a value that is one word, one number or a flag. */
export function scalarWords(value: unknown, marks: Marks | undefined, name = ''): string {
  const choice = marks?.choices?.[isNothing(value) ? 'null' : anyWords(value)];
  if (isNothing(value)) return choice?.label ?? 'not set';
  if (isSecret(value)) return 'hidden';
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value === 'number') return numberWords(value, marks?.unit);
  if (name.endsWith('_at') && typeof value === 'string') return exactTime(value);
  return choice?.label ?? anyWords(value);
}

/** What stands for a value that was never set; undefined: nothing does. */
export function defaultOf(schema: v.GenericSchema | undefined): unknown {
  if (schema === undefined || !('default' in schema)) return undefined;
  const { default: preset } = schema;
  return typeof preset === 'function' ? (preset as () => unknown)() : preset;
}

/** The members of an object or a list of objects, whatever wraps it. */
export function entriesOf(schema: v.GenericSchema | undefined): Readonly<Record<string, v.GenericSchema>> {
  if (schema === undefined) return {};
  if ('entries' in schema) return schema.entries as Readonly<Record<string, v.GenericSchema>>;
  if ('wrapped' in schema) return entriesOf(schema.wrapped as v.GenericSchema);
  return 'item' in schema ? entriesOf(schema.item as v.GenericSchema) : {};
}
