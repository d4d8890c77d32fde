import * as v from 'valibot';
import { Timestamp } from '../fields.ts';
import { operation } from '../operation.ts';

const SigningKeys = v.object({
  items: v.array(
    v.object({
      kid: v.string(),
      state: v.pipe(
        v.picklist(['current', 'next', 'retired']),
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

/** The keys that sign access tokens of signed-in people (contract section 15). Private parts never leave the server. */
export const signingKeys = {
  'signing_keys.get': operation('GET /oauth/signing-keys', 'admin', {
    input: v.strictObject({}),
    output: SigningKeys,
    summary: 'Get the state of the keys that sign access tokens, the current one first',
  }),
  'signing_keys.rotate': operation('POST /oauth/signing-keys/rotate', 'admin', {
    input: v.strictObject({}),
    output: SigningKeys,
    summary: 'Rotate the signing keys now; tokens signed before stay valid until they expire',
  }),
};
