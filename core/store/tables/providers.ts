import type { IdentityProviderDraft, ProvidedRole } from '#core/contract/identity/identity-providers.ts';
import type { StoredSecret } from '#core/contract/fields.ts';
import { type Kit, recordColumns } from '../kit.ts';

type AssertionAlgorithm = IdentityProviderDraft['assertion_algorithms'][number];

/** Signing in through OpenID Connect providers. */
export function providerTables(k: Kit) {
  const identity_providers = k.table(
    'identity_providers',
    {
      ...recordColumns(k),
      issuer: k.text().notNull(),
      client_id: k.text().notNull(),
      /** Null: a public client. `missing`: imported without its secret. */
      client_secret: k.json<StoredSecret | 'missing'>(),
      scopes: k.json<string[]>().notNull(),
      groups_claim: k.text(),
      allowed_domains: k.json<string[]>().notNull(),
      create_people: k.bool().notNull(),
      default_role: k.text().$type<ProvidedRole>(),
      role_by_group: k.json<Record<string, ProvidedRole>>().notNull(),
      /** Whether clients get access with its assertions (ID-JAG), which clients, and signed with which algorithms. */
      accept_assertions: k.flag(),
      assertion_clients: k.list<string[]>(),
      assertion_algorithms: k.list<AssertionAlgorithm[]>(),
      enabled: k.bool().notNull(),
    },
    (t) => [k.unique('identity_providers_name').on(t.name)],
  );
  /** The account of a person at an issuer. People are found only by this. */
  const identities = k.table(
    'identities',
    {
      id: k.text().primaryKey(),
      issuer: k.text().notNull(),
      subject: k.text().notNull(),
      person_id: k.text().notNull(),
      /**
       * The person whose invitation linked it. Null when the account was linked without an invitation, or the provider created
       * the person.
       */
      invited_by: k.text(),
      created_at: k.text().notNull(),
      last_used_at: k.text().notNull(),
    },
    (t) => [k.unique('identities_subject').on(t.issuer, t.subject), k.index('identities_person').on(t.person_id)],
  );
  /**
   * Unfinished sign-ins at a provider. `id` is the SHA-256 of the state, `browser` that of the browser's cookie. Verifier and
   * nonce are derived from both, so a copy of this table is not enough to finish a sign-in.
   */
  const provider_sign_ins = k.table(
    'provider_sign_ins',
    {
      id: k.text().primaryKey(),
      browser: k.text().notNull(),
      provider_id: k.text().notNull(),
      issuer: k.text().notNull(),
      redirect_uri: k.text().notNull(),
      return_to: k.text().notNull(),
      /** The signed-in person who links the account. */
      person_id: k.text(),
      expires_at: k.text().notNull(),
    },
    (t) => [k.index('provider_sign_ins_expiry').on(t.expires_at)],
  );
  /** Assertions that were used, until they would have expired. `digest` is the SHA-256 of issuer and `jti`. */
  const used_assertions = k.table('used_assertions', { digest: k.text().primaryKey(), expires_at: k.text().notNull() }, (t) => [
    k.index('used_assertions_expiry').on(t.expires_at),
  ]);
  return { identity_providers, identities, provider_sign_ins, used_assertions };
}
