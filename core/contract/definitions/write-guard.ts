import * as v from 'valibot';
import { integerBetween } from '../fields.ts';
import { field } from '../marks.ts';

/** When a person is asked before a writing tool commits. */
export const Confirm = v.picklist(['never', 'always', 'above']);
export type Confirm = v.InferOutput<typeof Confirm>;

const MOST_ROWS = 1_000_000_000;

/** What keeps a writing tool from changing more than somebody wants. Anybody who edits tools may tighten it; only an administrator loosens it. */
export const writeGuard = {
  max_affected_rows: field(v.nullable(integerBetween(1, MOST_ROWS)), {
    label: 'Affected row limit',
    unit: 'rows',
    help: 'A statement that changes more is rolled back. Cascades and triggers count. Defaults to no limit.',
    open: true,
    breaking: (now, old) =>
      isLower(now, old) ? `This tool now refuses to change more than ${String(now)} rows in one call.` : null,
    default: null,
  }),
  confirm: field(Confirm, {
    label: 'Confirmation',
    help: 'A person sees how many rows would change, and allows it before it is committed. Defaults to never.',
    open: true,
    choices: {
      never: { label: 'Never ask' },
      always: { label: 'Ask before every change' },
      above: { label: 'Ask above a number of rows' },
    },
    breaking: (_, old) =>
      old === 'never' ? 'This tool now asks a person before it changes data; clients that cannot ask are refused.' : null,
    default: 'never',
  }),
  confirm_rows: field(v.nullable(integerBetween(1, MOST_ROWS)), {
    label: 'Ask above',
    unit: 'rows',
    help: 'A call that changes this many rows or fewer asks nobody.',
    open: true,
    default: null,
  }),
  two_step: field(v.boolean(), {
    label: 'Two-step calls',
    help: 'Clients that cannot ask a person get a token to send with the same call. The model passes it on: a check, not consent. Defaults to off.',
    default: false,
  }),
};

type Entries = v.InferOutput<v.ObjectSchema<typeof writeGuard, undefined>>;
/** What of it a snapshot holds: nothing where it has its default. */
export type WriteGuard = { readonly [K in keyof Entries]?: NonNullable<Entries[K]> };

const isLower = (now: unknown, old: unknown): boolean => typeof now === 'number' && (typeof old !== 'number' || now < old);

/** The fields that would let a tool change more, or change it with fewer questions, than before. Absent is the default. */
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

/** As it is stored, or as it is frozen. */
export type WriteGuardFields = { readonly [K in keyof Entries]?: Entries[K] | undefined };

export const isGuarded = ({ confirm = 'never', max_affected_rows = null }: WriteGuardFields): boolean =>
  confirm !== 'never' || max_affected_rows !== null;
