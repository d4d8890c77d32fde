import type { Platform } from '#core/platform/platform.ts';
import { AppError } from '#core/errors.ts';
import { openOrNull } from '#core/lib/secrets.ts';
import type { Handlers } from '#core/context/context.ts';
import { invitedBy } from '../invitations.ts';
import { digestOf } from '#core/lib/random-token.ts';
import { usableProvider } from './stored.ts';

/** The time for one redirect, from the invitation page to the start of the sign-in. */
const TICKET_MS = 60_000;
const TICKET = 'invitation_ticket';

/** Accepts an invitation with an account at a provider. The link's token does not appear in any address. */
export const invitedHandlers: Pick<Handlers, 'auth.accept_invite_through'> = {
  'auth.accept_invite_through': async (context, { token, provider_id }) => {
    const { app } = context;
    const digest = digestOf(token);
    await invitedBy(context, app.store.db, digest);
    const { id } = await usableProvider(app, provider_id);
    const expires_at = app.clock().getTime() + TICKET_MS;
    const invite = app.keyring.seal(`${expires_at} ${digest}`, TICKET);
    return { redirect_to: `/api/v1/auth/oidc/${id}/start?${new URLSearchParams({ return_to: '/', invite })}` };
  },
};

/** The digest of the invitation that a sign-in accepts. */
export function openTicket({ keyring, clock }: Platform, ticket: string): string {
  const [expires_at = '', digest] = (openOrNull(keyring, ticket, TICKET) ?? '').split(' ');
  if (digest !== undefined && Number(expires_at) > clock().getTime()) return digest;
  throw new AppError('forbidden', 'This sign-in has expired. Open the link of the invitation again.', { reason: 'expired' });
}

const pathOf = (sign_in_id: string): string => `invitation/${sign_in_id}`;

/** The value of the browser's cookie while the person is at the provider. It is valid only for this sign-in. */
export const keepInvitation = ({ keyring }: Platform, digest: string, sign_in_id: string): string =>
  keyring.seal(digest, pathOf(sign_in_id));

export const pendingInvitation = ({ keyring }: Platform, pending: string | undefined, sign_in_id: string): string | null =>
  pending === undefined ? null : openOrNull(keyring, pending, pathOf(sign_in_id));
