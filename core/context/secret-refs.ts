import { isAllowedBy, parseReference, REFERENCE_FORMS } from '#core/lib/text/secret-reference.ts';
import { AppError, type FieldError, refuseFields } from '#core/errors.ts';
import { isReference, referencesIn } from '#core/lib/sealed-values.ts';
import { readSettings } from '#core/settings/settings.ts';
import type { Context } from './context.ts';
import { isPerson } from './roles.ts';

/**
 * Throws for a new reference that a token enters, or that `secret_refs` does not allow. @param before the stored values, whose
 * references can stay. @param allowed the setting, if the same change sets it.
 */
export async function refuseReferences(
  context: Pick<Context, 'app' | 'actor' | 'batch'>,
  before: unknown,
  after: object,
  allowed?: readonly string[],
): Promise<void> {
  const known = new Set(referencesIn(before));
  const fresh = namedReferences(after).filter(({ ref }) => !known.has(ref));
  if (fresh.length === 0) return;
  if (!isPerson(context.actor, 'editor')) {
    const errors = fresh.map(({ field }) => ({
      field,
      message: `${field} can be a reference only if a signed-in person enters it. A token can send the secret itself.`,
    }));
    throw new AppError('admin_only', errors.map(({ message }) => message).join(' '), { errors });
  }
  const prefixes = allowed ?? (await readSettings(context.app)).settings.secret_refs;
  const faults = fresh.flatMap(({ field, ref }): FieldError[] =>
    isAllowedBy(prefixes, ref) && parseReference(ref) !== null ? [] : [{ field, message: faultOf(field, ref) }],
  );
  refuseFields(faults);
}

const faultOf = (field: string, ref: string): string =>
  parseReference(ref) === null
    ? `${field} must be ${REFERENCE_FORMS}.`
    : `${field} has the reference ${ref}, which this installation does not allow. An administrator can add its beginning to secret_refs.`;

function namedReferences(value: unknown, path = ''): { field: string; ref: string }[] {
  if (isReference(value)) return [{ field: path, ref: value.ref }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => namedReferences(item, path === '' ? name : `${path}.${name}`));
}
