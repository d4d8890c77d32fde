import type { Platform } from '#core/platform/platform.ts';
import { AppError } from '#core/errors.ts';
import { openOrNull } from '#core/lib/secrets.ts';
import type { Handlers } from '#core/context/context.ts';
import { invitedBy } from '../invitations.ts';
import { digestOf } from '#core/lib/random-token.ts';
import { usableProvider } from './stored.ts';

/** From the page of the invitation to the start of the sign-in is one redirect. */
const TICKET_MS = 60_000;
const TICKET = 'invitation_ticket';

/** Accepting an invitation with an account at a provider. The link's token stays out of every address. */
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

/** The digest of the invitation that a sign-in begins for. */
export function openTicket({ keyring, clock }: Platform, ticket: string): string {
  const [expires_at = '', digest] = (openOrNull(keyring, ticket, TICKET) ?? '').split(' ');
  if (digest !== undefined && Number(expires_at) > clock().getTime()) return digest;
  throw new AppError('forbidden', 'This sign-in has expired. Open the link of the invitation again.', { reason: 'expired' });
}

const placeOf = (sign_in_id: string): string => `invitation/${sign_in_id}`;

/** What the browser keeps of an invitation while it is at the provider; it counts for this sign-in alone. */
export const keepInvitation = ({ keyring }: Platform, digest: string, sign_in_id: string): string =>
  keyring.seal(digest, placeOf(sign_in_id));

export const keptInvitation = ({ keyring }: Platform, kept: string | undefined, sign_in_id: string): string | null =>
  kept === undefined ? null : openOrNull(keyring, kept, placeOf(sign_in_id));
