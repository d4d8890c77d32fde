import type { CallerIds } from '#core/contract/observe/usage-batch.ts';
import { networkOf } from '#core/edge/network.ts';
import { type Claims, type Identity, NO_CLAIMS, NO_IDENTITY } from '#core/query/identity.ts';
import { FULL_RIGHTS, type Rights } from './rights.ts';

/** Who calls, as an auth scheme made out. */
export interface Caller {
  /** Stands for the credential; sessions and streams are bound to it. Empty without a credential. */
  readonly owner: string;
  /** The sign-in that the credential came from: of one owner, there may be several. Absent: the credential came from none. */
  readonly grant?: string;
  /** For the request log: the first characters of an access token, or the name of an OAuth caller. */
  readonly token_prefix: string | null;
  readonly rights: Rights;
  readonly claims: Claims;
  readonly identity: Identity;
  /** Whose credential it is, for the request log; undefined: nobody's. */
  readonly ids: CallerIds | undefined;
}

/** What a caller is let in by, for as long as it is. Without a grant, any sign-in of the owner. */
export type Admission = Pick<Caller, 'owner' | 'grant'>;

export const createCaller = (
  owner: string,
  token_prefix: string | null,
  rights: Rights = FULL_RIGHTS,
  claims: Claims = NO_CLAIMS,
  identity: Identity = NO_IDENTITY,
): Caller => ({ owner, token_prefix, rights, claims, identity, ids: idsOf(owner, identity) });

/** Before the id of an access token, as its owner. */
export const TOKEN_OWNER = 'token:';
/** Before the digest that names a person who signed in at our own server, as the owner. */
export const PERSON_OWNER = 'person:';
export const isSignedIn = ({ owner }: Caller): boolean => owner.startsWith(PERSON_OWNER);

function idsOf(owner: string, { sub, client_id }: Identity): CallerIds | undefined {
  const token = owner.startsWith(TOKEN_OWNER) ? owner.slice(TOKEN_OWNER.length) : null;
  const person = token !== null || sub === client_id ? null : sub;
  return token === null && person === null && client_id === null ? undefined : { person, token, client_id };
}

/** `auth_type` none. */
export const ANONYMOUS = createCaller('', null);
/** The peer on standard input: whoever started the program has its environment, and with it every secret. */
export const LOCAL = createCaller('local', null);

/** Whose limits something counts in: a credential's, or without one those of the address. */
export const holderOf = ({ owner }: Caller, address: () => string): string =>
  owner === '' ? `address:${networkOf(address())}` : owner;
