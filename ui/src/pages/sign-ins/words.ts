import type { OauthAttempt } from '#core/contract/identity/oauth.ts';

export const STEP_WORDS = {
  register: 'Registration',
  authorize: 'Request',
  consent: 'Consent',
  token: 'Token',
  refresh: 'Renewal',
  provider: 'Identity provider',
  password: 'Password',
} as const satisfies Record<OauthAttempt['step'], string>;
