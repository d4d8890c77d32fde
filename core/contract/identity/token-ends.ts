import * as v from 'valibot';
import { Id, integerBetween, listInput, listOf, Timestamp } from '../fields.ts';
import { field } from '../marks.ts';
import { MOST_TOKEN_DAYS } from '../settings/setting-values.ts';
import { operation } from '../operation.ts';

/** Hours during which the secret before a rotation still works. */
export const ROTATION_HOURS = 24;

/** Days before its end at which a notice names a credential. */
export const NOTICE_DAYS = [30, 7, 1] as const;

/** Credentials that end soon are listed from this many days before their end on. */
const LISTED_DAYS = NOTICE_DAYS[0];

const lifetime = field(v.nullable(integerBetween(1, MOST_TOKEN_DAYS)), {
  label: 'Valid for',
  unit: 'days',
  help: 'Refused after this time. Defaults to the setting token_default_days, at most SVC_TOKEN_MAX_DAYS.',
  presets: [7, 30, 90, 180, 365],
  choices: { null: { label: 'Never expires' } },
});

/** The lifetime of a new secret. Absent: the default; null: no end, where the operator sets no longest lifetime. */
export const expiresInDays = { expires_in_days: v.optional(lifetime) };

/** When a credential ends, in records of it. */
export const tokenEnds = {
  expires_at: v.pipe(v.nullable(Timestamp), v.description('It is refused from then on; null: it has no end')),
  rotation_ends_at: v.pipe(
    v.nullable(Timestamp),
    v.description('Until then the secret before the last rotation works too; null: it does not'),
  ),
};

/** The kinds of credentials with an end, as the history calls them. */
export const ENDING_CHOICES = {
  mcp_token: { label: 'Access token' },
  oauth_client: { label: 'OAuth client' },
  oauth_app: { label: 'OAuth app' },
};

export const EndingCredential = v.object({
  type: v.picklist(['mcp_token', 'oauth_client', 'oauth_app']),
  id: Id,
  name: v.string(),
  expires_at: Timestamp,
});
export type EndingCredential = v.InferOutput<typeof EndingCredential>;

export const tokenEndOperations = {
  'credentials.ending': operation('GET /credentials/ending', 'session', {
    input: v.strictObject(listInput(100)),
    output: listOf(EndingCredential),
    summary: `List access tokens, OAuth clients of the agent endpoint and OAuth apps that end within ${LISTED_DAYS} days, first those that end first`,
  }),
};
