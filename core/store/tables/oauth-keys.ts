import type { JWK } from 'jose';
import type { Sealed } from '#core/contract/fields.ts';
import type { Kit } from '../kit.ts';

/** What access tokens of signed-in people are signed with, and which of them count no more. */
export function oauthKeyTables(k: Kit) {
  const signing_keys = k.table('signing_keys', {
    /** Thumbprint of the public key (RFC 7638). */
    kid: k.text().primaryKey(),
    /** `next` is published and signs nothing yet; `retired` only verifies. */
    state: k.text().$type<'next' | 'current' | 'retired'>().notNull(),
    public_key: k.json<JWK>().notNull(),
    /** A JWK sealed as `signing_key/<kid>/private_key`; null once the key is retired. */
    private_key: k.json<Sealed | null>(),
    created_at: k.text().notNull(),
    /** When it came to its state. */
    since: k.text().notNull(),
  });
  /** Kept for as long as an access token can live. */
  const ended_grants = k.table('ended_grants', {
    /** The change of the list that ended it; null: a server of an older release ended it. */
    seq: k.real(),
    /** `<kind>:<value>`: a person's tokens can be ended again and again. */
    id: k.text().primaryKey(),
    kind: k.text().$type<'grant' | 'sub' | 'client_id'>().notNull(),
    value: k.text().notNull(),
    /** Tokens issued up to this time are refused. */
    ended_at: k.text().notNull(),
  });
  return { signing_keys, ended_grants };
}
