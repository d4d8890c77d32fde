import * as v from 'valibot';
import { integerBetween } from '../fields.ts';
import { field } from '../marks.ts';

/** When a person must confirm the changes of a writing tool before it commits. */
export const Confirm = v.picklist(['never', 'always', 'above']);
export type Confirm = v.InferOutput<typeof Confirm>;

const MOST_ROWS = 1_000_000_000;

/** Limits on the changes of a writing tool. Anyone who edits tools can tighten them; only an administrator can loosen them. */
export const writeGuard = {
  max_affected_rows: field(v.nullable(integerBetween(1, MOST_ROWS)), {
    label: 'Affected row limit',
    unit: 'rows',
    help: 'A statement that changes more is rolled back. Cascades and triggers count. Defaults to no limit.',
    choices: { null: { label: 'No limit' } },
    open: true,
    breaking: (now, old) =>
      isLower(now, old) ? `This tool now refuses to change more than ${String(now)} rows in one call.` : null,
    default: null,
  }),
  confirm: field(Confirm, {
    label: 'Confirmation',
    help: 'A person sees how many rows would change and approves before the commit. Defaults to never.',
    open: true,
    choices: {
      never: { label: 'Never ask' },
      always: { label: 'Ask before every change' },
      above: { label: 'Ask above a number of rows' },
    },
    breaking: (_, old) =>
      old === 'never'
        ? 'This tool now requires confirmation by a person before it changes data. Clients that cannot ask are rejected.'
        : null,
    default: 'never',
  }),
  confirm_rows: field(v.nullable(integerBetween(1, MOST_ROWS)), {
    label: 'Ask above',
    unit: 'rows',
    help: 'Calls that change this many rows or fewer need no confirmation.',
    open: true,
    default: null,
  }),
  two_step: field(v.boolean(), {
    label: 'Two-step calls',
    help: 'Clients that cannot ask a person get a token to send with the same call. A model can send it, so this is a check, not consent. Defaults to off.',
    default: false,
  }),
};

type Entries = v.InferOutput<v.ObjectSchema<typeof writeGuard, undefined>>;
/** The frozen form: fields with their default are absent. */
export type WriteGuard = { readonly [K in keyof Entries]?: NonNullable<Entries[K]> };

const isLower = (now: unknown, old: unknown): boolean => typeof now === 'number' && (typeof old !== 'number' || now < old);

/** Fields that let a tool change more rows, or require fewer confirmations, than before. An absent field has its default. */
export function loosened(before: WriteGuardFields, after: WriteGuardFields): string[] {
  const questions = ({ confirm = 'never', confirm_rows }: WriteGuardFields): number =>
    confirm === 'never' ? Number.POSITIVE_INFINITY : confirm === 'always' ? 0 : (confirm_rows ?? 0);
  const most = ({ max_affected_rows }: WriteGuardFields): number => max_affected_rows ?? Number.POSITIVE_INFINITY;
  return [
    ...(most(after) > most(before) ? ['max_affected_rows'] : []),
    ...(questions(after) > questions(before) ? [after.confirm === 'above' ? 'confirm_rows' : 'confirm'] : []),
    ...(after.two_step === true && before.two_step !== true ? ['two_step'] : []),
  ];
}

/** The stored or frozen form. */
export type WriteGuardFields = { readonly [K in keyof Entries]?: Entries[K] | undefined };

export const isGuarded = ({ confirm = 'never', max_affected_rows = null }: WriteGuardFields): boolean =>
  confirm !== 'never' || max_affected_rows !== null;
