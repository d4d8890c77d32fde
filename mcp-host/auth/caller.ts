import { networkOf } from '#core/edge/network.ts';
import { type Claims, type Identity, NO_CLAIMS, NO_IDENTITY } from '#core/lib/call/identity.ts';
import { FULL_RIGHTS, type Rights } from './rights.ts';

/** Who calls, as an auth scheme made out. */
export interface Caller {
  /** Stands for the credential; sessions and streams are bound to it. Empty without a credential. */
  readonly owner: string;
  /** For the request log: the first characters of an access token, or the name of an OAuth caller. */
  readonly token_prefix: string | null;
  readonly rights: Rights;
  readonly claims: Claims;
  readonly identity: Identity;
}

export const createCaller = (
  owner: string,
  token_prefix: string | null,
  rights: Rights = FULL_RIGHTS,
  claims: Claims = NO_CLAIMS,
  identity: Identity = NO_IDENTITY,
): Caller => ({ owner, token_prefix, rights, claims, identity });

/** `auth_type` none. */
export const ANONYMOUS = createCaller('', null);
/** The peer on standard input: whoever started the program has its environment, and with it every secret. */
export const LOCAL = createCaller('local', null);

const NAME_LENGTH = 32;
/** The name of an OAuth caller as the request log keeps it; another server's word may hold anything. */
export const callerName = (name: unknown): string | null =>
  typeof name === 'string' && name !== '' ? name.slice(0, NAME_LENGTH).replaceAll(/[^\x20-\x7e]/g, '?') : null;

/** Whose limits something counts in: a credential's, or without one those of the address. */
export const holderOf = ({ owner }: Caller, address: () => string): string =>
  owner === '' ? `address:${networkOf(address())}` : owner;
