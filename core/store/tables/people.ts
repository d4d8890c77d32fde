import type { Role } from '#core/contract/roles.ts';
import type { Sealed } from '#core/contract/fields.ts';
import type { Kit } from '../kit.ts';

/** People, and the data with which they sign in. */
export function peopleTables(k: Kit) {
  /** `slot` is 1 for the first account and null for all others, so that two first owners cannot be inserted. */
  const people = k.table(
    'people',
    {
      id: k.text().primaryKey(),
      slot: k.int(),
      username: k.text().notNull(),
      display_name: k.text(),
      email: k.text(),
      role: k.text().$type<Role>().notNull(),
      groups: k.json<string[]>().notNull(),
      enabled: k.bool().notNull(),
      sign_in: k.text().$type<'password' | 'oidc'>().notNull(),
      /** Null until an invitation is accepted, and for people who only sign in through a provider. */
      password_hash: k.text(),
      totp_secret: k.json<Sealed>(),
      totp_enabled: k.bool().notNull(),
      totp_last_step: k.int(),
      /** SHA-256 of the token of the open invitation. */
      invite_digest: k.text(),
      invite_expires_at: k.text(),
      /** The person who sent the invitation. Null for the command line, or without an invitation. */
      invited_by: k.text(),
      last_seen_at: k.text(),
      version: k.int().notNull(),
      created_at: k.text().notNull(),
      updated_at: k.text().notNull(),
    },
    (t) => [
      k.unique('people_slot').on(t.slot),
      k.unique('people_username').on(t.username),
      k.unique('people_invite').on(t.invite_digest),
    ],
  );
  const sessions = k.table(
    'sessions',
    {
      id: k.text().primaryKey(),
      person_id: k.text().notNull(),
      ip: k.text(),
      user_agent: k.text(),
      created_at: k.text().notNull(),
      last_seen_at: k.text().notNull(),
      expires_at: k.text().notNull(),
      revoked_at: k.text(),
      /** When the person last proved with a password or a code who they are; null: at the sign-in. */
      proved_at: k.text(),
    },
    (t) => [k.index('sessions_person').on(t.person_id)],
  );
  /** Sign-ins that wait for the second factor; `id` is the SHA-256 of the pending token. */
  const pending_logins = k.table(
    'pending_logins',
    {
      id: k.text().primaryKey(),
      person_id: k.text().notNull(),
      /** Number of codes that were tried. */
      attempts: k.int().notNull(),
      expires_at: k.text().notNull(),
    },
    (t) => [k.index('pending_logins_person').on(t.person_id)],
  );
  /** Hashes of unused recovery codes. */
  const recovery_codes = k.table(
    'recovery_codes',
    { code_hash: k.text().primaryKey(), person_id: k.text().notNull(), created_at: k.text().notNull() },
    (t) => [k.index('recovery_codes_person').on(t.person_id)],
  );
  return { people, sessions, pending_logins, recovery_codes };
}
