import { replaceSealed } from '#core/lib/sealed-values.ts';
import { fingerprintOf } from '#core/lib/secrets.ts';
import { canonical } from '#snapshots/format/canonical.ts';

type State = Readonly<Record<string, unknown>> | null;

/** Every write sets these fields, so they are not shown as changes. */
const HIDDEN_FIELDS = ['id', 'version', 'created_at', 'updated_at'];

/** Names of the fields that differ between two states of a record. */
export const changedFields = (before: State, after: State): string[] =>
  Object.keys({ ...before, ...after })
    .filter((name) => !HIDDEN_FIELDS.includes(name))
    .filter((name) => comparable(before?.[name]) !== comparable(after?.[name]));

/** A value to compare. A secret that was only sealed again counts as unchanged. */
const comparable = (value: unknown): string =>
  canonical(replaceSealed(value ?? null, (sealed) => ({ $secret: fingerprintOf(sealed) })));
