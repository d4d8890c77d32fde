import type { Json } from '#core/lib/sql/result.ts';

/** Claims of a credential. */
export type Claims = Readonly<Record<string, Json>>;

/** The authenticated caller, read by `caller.sub` and similar sources. Null: the credential has no such value. */
export interface Identity {
  readonly sub: string | null;
  readonly name: string | null;
  readonly email: string | null;
  readonly client_id: string | null;
  readonly groups: readonly string[];
  /** Name of the access token. */
  readonly token: string | null;
}

export const NO_CLAIMS: Claims = {};
export const NO_IDENTITY: Identity = { sub: null, name: null, email: null, client_id: null, groups: [], token: null };

/** Builds the identity from claims, completed by `known`. Claims of a wrong type are ignored. */
export const toIdentity = (claims: Claims, known: Partial<Identity> = {}): Identity => ({
  sub: textOf(claims['sub']) ?? known.sub ?? null,
  name: textOf(claims['name']) ?? known.name ?? null,
  email: textOf(claims['email']) ?? known.email ?? null,
  client_id: known.client_id ?? textOf(claims['client_id']),
  groups: known.groups ?? textsOf(claims['groups']),
  token: known.token ?? null,
});

const textOf = (value: Json | undefined): string | null => (typeof value === 'string' && value !== '' ? value : null);
const textsOf = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
