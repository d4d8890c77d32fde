import type { Platform } from '#core/platform/platform.ts';
import type { WithProviders } from '#core/identity/providers/metadata.ts';
import { AppError, invalidField } from '#core/errors.ts';
import { ownersWhoCanSignIn } from '../people-rules.ts';

/** Password sign-in can only be turned off while an owner has signed in through a provider that responds now. */
export async function requireWorkingProvider(app: Platform & WithProviders): Promise<void> {
  const owners = await ownersWhoCanSignIn(app, app.store.db, false);
  const issuers = [...new Set(owners.flatMap(({ issuer }) => issuer ?? []))];
  if (issuers.length === 0) {
    throw invalidField(
      'password_sign_in',
      'password_sign_in can be turned off only when an owner can sign in through an enabled identity provider. Link an owner’s account first.',
    );
  }
  // A cached document does not show that the provider responds now.
  for (const issuer of issuers) app.providers.forget(issuer);
  const answered = await Promise.allSettled(issuers.map((issuer) => app.providers.metadata(issuer)));
  if (answered.some(({ status }) => status === 'fulfilled')) return;
  const reason = answered.flatMap((outcome) =>
    outcome.status === 'rejected' && outcome.reason instanceof AppError ? outcome.reason.detail : [],
  )[0];
  throw invalidField(
    'password_sign_in',
    `password_sign_in can be turned off only while an owner’s identity provider works. ${reason ?? ''}`.trim(),
  );
}
