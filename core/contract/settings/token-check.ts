import * as v from 'valibot';
import { textBetween } from '../fields.ts';
import { operation } from '../operation.ts';

/** The checks of a signed access token in their order (RFC 9068 section 4, RFC 8725 section 3). */
export const TOKEN_CHECKS = [
  'form',
  'algorithm',
  'type',
  'issuer',
  'key',
  'signature',
  'audience',
  'expiry',
  'times',
  'kind',
  'claims',
] as const;

export const TokenCheckResult = v.object({
  check: v.picklist(TOKEN_CHECKS),
  status: v.picklist(['passed', 'failed', 'skipped']),
  message: v.string(),
});
export type TokenCheckResult = v.InferOutput<typeof TokenCheckResult>;

export const tokenCheck = {
  'config.check_token': operation('POST /server/config/check-token', 'admin', {
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
