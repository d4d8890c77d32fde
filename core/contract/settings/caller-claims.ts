import * as v from 'valibot';

/** Maximum bytes of all claims together, as JSON. */
const MOST_BYTES = 4_096;
/** Maximum nesting of a value. */
const DEEPEST = 5;

const isWithin = (value: unknown, levels: number): boolean =>
  typeof value !== 'object' || value === null || (levels > 0 && Object.values(value).every((item) => isWithin(item, levels - 1)));
const isTextOrNull = (value: unknown): boolean => value === undefined || value === null || typeof value === 'string';
const isTexts = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.every((item) => typeof item === 'string'));

/**
 * Claims of a credential's callers: any JSON, except that `sub`, `name`, `email` and `groups` fill `caller.…` and need those
 * types.
 */
export const CallerClaims = v.pipe(
  v.record(v.pipe(v.string(), v.minLength(1), v.maxLength(255)), v.unknown()),
  v.check(
    (claims) => new TextEncoder().encode(JSON.stringify(claims)).length <= MOST_BYTES,
    `must have at most ${MOST_BYTES} bytes`,
  ),
  v.check((claims) => isWithin(claims, DEEPEST), `must have at most ${DEEPEST} levels`),
  v.check(
    ({ sub, name, email }) => [sub, name, email].every(isTextOrNull),
    'must have text as sub, name and email, where they are given',
  ),
  v.check(({ groups }) => isTexts(groups), 'must have a list of texts as groups, where it is given'),
);
