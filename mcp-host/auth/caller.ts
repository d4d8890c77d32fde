import type { CallerIds } from '#core/contract/observe/usage-batch.ts';
import { networkOf } from '#core/edge/client-address.ts';
import { type Claims, type Identity, NO_CLAIMS, NO_IDENTITY } from '#core/query/identity.ts';
import { FULL_RIGHTS, type Rights } from './rights.ts';

/** The authenticated caller. */
export interface Caller {
  /** Identifies the credential; sessions and streams are bound to it. Empty without a credential. */
  readonly owner: string;
  /** The sign-in that issued the credential; an owner may have several. Absent: no sign-in issued it. */
  readonly grant?: string;
  /** For the request log: the first characters of an access token, or the name of an OAuth caller. */
  readonly token_prefix: string | null;
  readonly rights: Rights;
  readonly claims: Claims;
  readonly identity: Identity;
  /** Person, token and client, for the request log; undefined: none of them is known. */
  readonly ids: CallerIds | undefined;
}

/** Decides whether a caller stays admitted: its owner and grant. Without a grant, any sign-in of the owner is enough. */
export type Admission = Pick<Caller, 'owner' | 'grant'>;

export const createCaller = (
  owner: string,
  token_prefix: string | null,
  rights: Rights = FULL_RIGHTS,
  claims: Claims = NO_CLAIMS,
  identity: Identity = NO_IDENTITY,
): Caller => ({ owner, token_prefix, rights, claims, identity, ids: idsOf(owner, identity) });

/** Prefix of an access token's id in `owner`. */
export const TOKEN_OWNER = 'token:';
/** Prefix of `owner` for a person who signed in at the server; a digest follows. */
export const PERSON_OWNER = 'person:';
export const isSignedIn = ({ owner }: Caller): boolean => owner.startsWith(PERSON_OWNER);

function idsOf(owner: string, { sub, client_id }: Identity): CallerIds | undefined {
  const token = owner.startsWith(TOKEN_OWNER) ? owner.slice(TOKEN_OWNER.length) : null;
  const person = token !== null || sub === client_id ? null : sub;
  return token === null && person === null && client_id === null ? undefined : { person, token, client_id };
}

/** `auth_type` none. */
export const ANONYMOUS = createCaller('', null);
/** The peer on standard input: the user who started the program can read its environment, and with it every secret. */
export const LOCAL = createCaller('local', null);

/** The holder of limits: the credential, or without one the address. */
export const holderOf = ({ owner }: Caller, address: () => string): string =>
  owner === '' ? `address:${networkOf(address())}` : owner;
