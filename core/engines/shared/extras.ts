import type { ConnectionType } from '#core/contract/definitions/connections.ts';

/** A setting of one engine that a connection may have in `extra_params`. */
export interface Extra {
  readonly field: ConnectionType['extra_fields'][number];
  /** What is wrong with a value, as the end of a sentence that begins with the field; null: nothing. */
  readonly fault: (value: string) => string | null;
}

/** Characters of a value; patterns are matched with nothing longer. */
const LONGEST = 4_000;

/** @returns what is wrong with a value that somebody sent; null and the empty text take the default. */
export function extraFault({ field, fault }: Extra, value: unknown): string | null {
  if (value === null || value === '') return null;
  const found = typeof value === 'string' ? faultIn(value, fault) : 'must be a string.';
  return found === null ? null : `extra_params.${field.name} ${found}`;
}

const faultIn = (value: string, fault: Extra['fault']): string | null =>
  value.length > LONGEST ? 'must have at most 4,000 characters.' : fault(value);

/** The settings of an engine and what each means, in a sentence; where it has none, what there is to know of its connections. */
export function extrasThereAre(extras: readonly Extra[], engine: string, note: string | null): string {
  if (extras.length === 0) return `${engine} takes no extra_params.${note === null ? '' : ` ${note}`}`;
  const said = extras.map(({ field: { name, hint } }) => `${name} (${withinSentence(hint)})`);
  return `${engine} takes ${[said.slice(0, -1).join(', '), said.at(-1)].filter(Boolean).join(' and ')}.`;
}

/** A sentence as a part of another one; names such as `JSON` keep their letters. */
const withinSentence = (text: string): string =>
  text.replace(/\.$/, '').replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase());

/** The entries that have an effect: what an earlier version stored without looking at it has none. */
export function extrasOf(extras: readonly Extra[], params: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const given = extras.flatMap(({ field: { name }, fault }) => {
    const value = Object.hasOwn(params, name) ? params[name] : null;
    return typeof value === 'string' && value !== '' && faultIn(value, fault) === null ? [[name, value] as const] : [];
  });
  return Object.fromEntries(given);
}

/** A field that a person fills in as text, and that holds no secret. */
export const textField = (name: string, label: string, preset: string | null, hint: string): Extra['field'] => ({
  name,
  label,
  hint,
  type: 'text',
  default: preset,
  secret: false,
});
