import * as v from 'valibot';
import { textBetween } from '../fields.ts';
import { field } from '../marks.ts';
import { ValueSource } from './parameters.ts';

const MOST_VALUES = 20;
const MOST_ROLES = 100;

/** The name of a session value. Each engine decides which names are valid. */
const SessionName = v.pipe(
  v.string(),
  v.maxLength(63),
  v.regex(/^[a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)?$/, 'must be lower-case letters, digits and underscores, such as app.tenant'),
);

export const SessionValue = v.strictObject({ name: SessionName, from: ValueSource });
export type SessionValue = v.InferOutput<typeof SessionValue>;

/**
 * The role under which the database runs each statement: the source names it. If the source is a list, the first of `allow` in
 * it.
 */
export const SessionRole = v.strictObject({
  from: ValueSource,
  allow: v.pipe(v.array(textBetween(1, 63)), v.minLength(1), v.maxLength(MOST_ROLES)),
});
export type SessionRole = v.InferOutput<typeof SessionRole>;

/** Values about the caller that the database receives. They decide who sees which rows, so only people can change them. */
export const connectionSession = {
  session_values: field(
    v.pipe(
      v.array(SessionValue),
      v.maxLength(MOST_VALUES),
      v.check((values) => new Set(values.map(({ name }) => name)).size === values.length, 'must name each session value once'),
    ),
    {
      label: 'Session values',
      help: 'Values of the caller that statements pass to the database, for policies and views. They are set for each call.',
      default: [],
    },
  ),
  session_role: field(v.nullable(SessionRole), {
    label: 'Session role',
    help: 'The role that statements run as, taken from the caller. PostgreSQL only.',
    default: null,
  }),
};
