import * as v from 'valibot';
import { textBetween } from '../fields.ts';
import { type Choice, field } from '../marks.ts';

export const MaskKind = v.picklist(['remove', 'null', 'text', 'hash', 'last4', 'email', 'year']);
export type MaskKind = v.InferOutput<typeof MaskKind>;

/** Labels of the masks. */
export const MASK_CHOICES: Readonly<Record<MaskKind, Choice>> = {
  remove: { label: 'Remove the column' },
  null: { label: 'Empty', help: 'Every value is null' },
  text: { label: 'Stars', help: '***' },
  hash: { label: 'Hash', help: 'Equal values have equal hashes, keyed with the encryption key of this installation' },
  last4: { label: 'Last four characters', help: '****4242' },
  email: { label: 'E-mail domain', help: 'a***@example.com' },
  year: { label: 'Year of a date', help: '1984' },
};

/** A masked column of a result. */
export const Mask = v.strictObject({
  column: textBetween(1, 255),
  mask: MaskKind,
  /** Callers in any of these groups see the unmasked values. */
  unless_groups: v.optional(v.pipe(v.array(textBetween(1, 255)), v.maxLength(100)), []),
});
export type Mask = v.InferOutput<typeof Mask>;

export const MOST_MASKS = 50;
const isFirst = (masks: readonly Mask[], column: string, n: number): boolean =>
  masks.findIndex((other) => other.column.toLowerCase() === column.toLowerCase()) === n;

export const Masks = v.pipe(
  v.array(Mask),
  v.maxLength(MOST_MASKS),
  v.check((masks) => masks.every(({ column }, n) => isFirst(masks, column, n)), 'must name each column once'),
);

export const masks = field(Masks, {
  label: 'Masks',
  help: 'Columns that callers see only in part. The statement itself reads the real values.',
  default: [],
});
