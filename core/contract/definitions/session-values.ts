import * as v from 'valibot';
import { textBetween } from '../fields.ts';
import { field } from '../marks.ts';
import { ValueSource } from './parameters.ts';

const MOST_VALUES = 20;
const MOST_ROLES = 100;

/** A name in the database session; which names an engine takes is its own rule. */
const SessionName = v.pipe(
  v.string(),
  v.maxLength(63),
  v.regex(/^[a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)?$/, 'must be lower-case letters, digits and underscores, such as app.tenant'),
);

export const SessionValue = v.strictObject({ name: SessionName, from: ValueSource });
export type SessionValue = v.InferOutput<typeof SessionValue>;

/** The database runs each statement as the role that the source names; of a list, as the first of `allow` that is in it. */
export const SessionRole = v.strictObject({
  from: ValueSource,
  allow: v.pipe(v.array(textBetween(1, 63)), v.minLength(1), v.maxLength(MOST_ROLES)),
});
export type SessionRole = v.InferOutput<typeof SessionRole>;

/** What the database is told of each caller (contract section 16). It decides who sees which rows, so people alone change it. */
export const connectionSession = {
  session_values: field(
    v.pipe(
      v.array(SessionValue),
      v.maxLength(MOST_VALUES),
      v.check((values) => new Set(values.map(({ name }) => name)).size === values.length, 'must name each session value once'),
    ),
    {
      label: 'Session values',
      help: 'What each statement tells the database of its caller, for policies and views. Set anew for each call.',
      default: [],
    },
  ),
  session_role: field(v.nullable(SessionRole), {
    label: 'Session role',
    help: 'The role that statements run as, taken from the caller. PostgreSQL only.',
    default: null,
  }),
};
