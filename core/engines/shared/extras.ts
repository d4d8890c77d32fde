import type { ConnectionType } from '#core/contract/definitions/connections.ts';

/** A setting of one engine that a connection may have in `extra_params`. */
export interface Extra {
  readonly field: ConnectionType['extra_fields'][number];
  /** Why a value is invalid, as the rest of a sentence that begins with the field. Null: it is valid. */
  readonly fault: (value: string) => string | null;
}

/** A longer value is refused before patterns are matched with it. */
const MAX_CHARACTERS = 4_000;

/** Why a value is invalid, as a sentence. Null and the empty string select the default. */
export function extraFault({ field, fault }: Extra, value: unknown): string | null {
  if (value === null || value === '') return null;
  const found = typeof value === 'string' ? faultIn(value, fault) : 'must be a string.';
  return found === null ? null : `extra_params.${field.name} ${found}`;
}

const faultIn = (value: string, fault: Extra['fault']): string | null =>
  value.length > MAX_CHARACTERS ? 'must have at most 4,000 characters.' : fault(value);

/** Lists the settings of an engine with their hints, in a sentence. Without settings it includes the note of the engine. */
export function extrasThereAre(extras: readonly Extra[], engine: string, note: string | null): string {
  if (extras.length === 0) return `${engine} takes no extra_params.${note === null ? '' : ` ${note}`}`;
  const settings = extras.map(({ field: { name, hint } }) => `${name} (${withinSentence(hint)})`);
  return `${engine} takes ${[settings.slice(0, -1).join(', '), settings.at(-1)].filter(Boolean).join(' and ')}.`;
}

/** Turns a sentence into a clause; names such as `JSON` keep their capitals. */
const withinSentence = (text: string): string =>
  text.replace(/\.$/, '').replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase());

/** The valid entries. Invalid ones have no effect: they are refused when they are saved. */
export function extrasOf(extras: readonly Extra[], params: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const valid = extras.flatMap(({ field: { name }, fault }) => {
    const value = Object.hasOwn(params, name) ? params[name] : null;
    return typeof value === 'string' && value !== '' && faultIn(value, fault) === null ? [[name, value] as const] : [];
  });
  return Object.fromEntries(valid);
}

/** A text field that contains no secret. */
export const textField = (name: string, label: string, preset: string | null, hint: string): Extra['field'] => ({
  name,
  label,
  hint,
  type: 'text',
  default: preset,
  secret: false,
});
