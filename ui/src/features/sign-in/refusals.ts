/** Why a sign-in through a provider did not end well, by the word that the server sends the browser back with. */
const REFUSALS: Readonly<Record<string, string>> = {
  denied: 'The sign-in was cancelled, or the identity provider refused it.',
  expired: 'This sign-in has expired, was already completed, or was started in another browser. Start again.',
  not_admitted: 'You can’t sign in here with this account. Ask an administrator.',
  disabled: 'This account is disabled. Ask an administrator to enable it.',
  taken: 'Another person here already signs in with this account.',
  second_factor:
    'This account has a second factor. Set a password with the link, enter the code, then link the provider on the Account page.',
  forbidden: 'Sign in again, then link the account: linking needs a sign-in within the last ten minutes.',
  unauthenticated: 'Sign in first, then link the account.',
  not_found: 'This identity provider is no longer available. Choose another way to sign in.',
  rate_limited: 'Too many sign-ins were started. Wait a minute, then try again.',
  private_network_blocked: 'The identity provider can’t be reached from here. Ask an administrator to test it.',
  unavailable: 'Signing in this way is not set up completely. Ask an administrator.',
};

const OTHER = 'The sign-in failed at the identity provider. Try again, or ask an administrator: the log has the reason.';

/** @param word what stands in the address; anything may. */
export const refusalOf = (word: string | null): string | undefined => {
  if (word === null) return undefined;
  return Object.hasOwn(REFUSALS, word) ? REFUSALS[word] : OTHER;
};
