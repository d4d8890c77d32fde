import * as v from 'valibot';
import { Timestamp } from '../fields.ts';
import { valuesOf } from '../marks.ts';
import { operation } from '../operation.ts';

export const KEY_CHOICES = {
  current: { label: 'Current', help: 'Signs new tokens.' },
  next: { label: 'Next', help: 'Is published, and signs after the next rotation.' },
  retired: { label: 'Retired', help: 'Only verifies the tokens that it signed.' },
};

const SigningKeys = v.object({
  items: v.array(
    v.object({
      kid: v.string(),
      state: v.pipe(
        v.picklist(valuesOf(KEY_CHOICES)),
        v.description(
          'current: signs; next: published, signs after the next rotation; retired: only verifies tokens that it signed',
        ),
      ),
      created_at: Timestamp,
      since: v.pipe(Timestamp, v.description('When it came into this state')),
    }),
  ),
  rotates_at: v.pipe(
    v.nullable(Timestamp),
    v.description('When they rotate next; null: the first sign-in creates the first key'),
  ),
});
export type SigningKeys = v.InferOutput<typeof SigningKeys>;

/** Keys that sign access tokens of signed-in people. Private keys never leave the server. */
export const signingKeys = {
  'signing_keys.get': operation('GET /oauth/signing-keys', 'session', {
    input: v.strictObject({}),
    output: SigningKeys,
    summary: 'Get the state of the keys that sign access tokens, the current one first',
  }),
  'signing_keys.rotate': operation('POST /oauth/signing-keys/rotate', 'session', {
    input: v.strictObject({}),
    output: SigningKeys,
    summary: 'Rotate the signing keys now; tokens signed before stay valid until they expire',
  }),
};
