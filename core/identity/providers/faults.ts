import * as oauth from 'oauth4webapi';
import { AppError } from '#core/errors.ts';

/** The step that failed, as the subject of a sentence. */
export type Step = 'discovery' | 'answer' | 'token' | 'keys' | 'userinfo';

const SUBJECT: Readonly<Record<Step, string>> = {
  discovery: 'The metadata of the identity provider',
  answer: 'The answer of the identity provider',
  token: 'The token endpoint’s answer',
  keys: 'The signature of the ID token',
  userinfo: 'The answer of the userinfo endpoint',
};

/** Messages by the library's error code. The library's messages are for developers, and may quote what it read. */
const SENTENCES: Readonly<Record<string, string>> = {
  [oauth.RESPONSE_IS_NOT_JSON]: 'is not JSON.',
  [oauth.PARSE_ERROR]: 'cannot be read.',
  [oauth.RESPONSE_IS_NOT_CONFORM]: 'has an unexpected status.',
  [oauth.INVALID_RESPONSE]: 'is not what OpenID Connect prescribes.',
  [oauth.JWT_TIMESTAMP_CHECK]: 'has a token that is expired or not valid yet. Compare the clocks.',
  [oauth.JWT_CLAIM_COMPARISON]: 'has a token for somebody else: issuer, audience or nonce differ.',
  [oauth.JSON_ATTRIBUTE_COMPARISON]: 'is about another issuer or another person.',
  [oauth.KEY_SELECTION]: 'cannot be checked: none of the provider’s keys fits.',
  [oauth.UNSUPPORTED_OPERATION]: 'uses an algorithm that is not accepted.',
  [oauth.MISSING_SERVER_METADATA]: 'cannot be used: the provider’s metadata is incomplete.',
  [oauth.INVALID_SERVER_METADATA]: 'cannot be used: the provider’s metadata is invalid.',
  [oauth.REQUEST_PROTOCOL_FORBIDDEN]: 'would have to be read over plain http.',
  [oauth.HTTP_REQUEST_FORBIDDEN]: 'would have to be read over plain http.',
};

/** Error codes as in RFC 6749. Longer or different ones are not quoted. */
const CODE = /^[a-z_]{1,64}$/;

/** Returns an `AppError` unchanged, and errors of the library as `provider_failed`. */
export function asFault(step: Step, cause: unknown): AppError {
  if (cause instanceof AppError) return cause;
  // The library wraps errors of its fetch.
  if (cause instanceof Error && cause.cause instanceof AppError) return cause.cause;
  if (cause instanceof oauth.AuthorizationResponseError) {
    return new AppError('forbidden', 'The sign-in was cancelled, or refused by the identity provider.', {
      cause,
      reason: 'denied',
    });
  }
  if (cause instanceof oauth.ResponseBodyError) {
    const code = CODE.test(cause.error) ? ` with ${cause.error}` : '';
    const hint = cause.error === 'invalid_client' ? ' Check client ID and client secret.' : '';
    return new AppError('provider_failed', `The identity provider refused the code${code}.${hint}`, { cause });
  }
  if (cause instanceof oauth.WWWAuthenticateChallengeError) {
    return new AppError(
      'provider_failed',
      'The identity provider did not accept the client. Check client ID and client secret.',
      {
        cause,
      },
    );
  }
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : '';
  return new AppError('provider_failed', `${SUBJECT[step]} ${SENTENCES[code] ?? 'is invalid.'}`, { cause });
}
