import * as v from 'valibot';
import { CHECK_CHOICES, textBetween } from '../fields.ts';
import { valuesOf } from '../marks.ts';
import { operation } from '../operation.ts';

/** The checks of a signed access token, in order (RFC 9068 section 4, RFC 8725 section 3). */
export const TOKEN_CHECKS = {
  form: { label: 'Format' },
  algorithm: { label: 'Algorithm' },
  type: { label: 'Type' },
  issuer: { label: 'Issuer' },
  key: { label: 'Key' },
  signature: { label: 'Signature' },
  audience: { label: 'Audience' },
  expiry: { label: 'Expiry' },
  times: { label: 'Validity period' },
  kind: { label: 'Kind of token' },
  claims: { label: 'Claims' },
};

export const TokenCheckResult = v.object({
  check: v.picklist(valuesOf(TOKEN_CHECKS)),
  status: v.picklist(valuesOf(CHECK_CHOICES)),
  message: v.string(),
});
export type TokenCheckResult = v.InferOutput<typeof TokenCheckResult>;

export const tokenCheck = {
  'config.check_token': operation('POST /server/config/check-token', 'session', {
    input: v.strictObject({
      token: v.pipe(textBetween(1, 20_000), v.description('An access token; it is neither stored nor logged')),
    }),
    output: v.object({
      accepted: v.boolean(),
      checks: v.array(TokenCheckResult),
      caller: v.pipe(
        v.nullable(
          v.object({
            sub: v.nullable(v.string()),
            name: v.nullable(v.string()),
            email: v.nullable(v.string()),
            client_id: v.nullable(v.string()),
            groups: v.array(v.string()),
            scopes: v.array(v.string()),
          }),
        ),
        v.description('Who would call; null when the token is rejected'),
      ),
    }),
    summary: 'Check a signed access token against the stored issuers, one check after the other, as a host would',
  }),
};
