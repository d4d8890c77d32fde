import type { ProvidedRole } from '#core/contract/identity/identity-providers.ts';
import type { Sealed } from '#core/contract/fields.ts';
import { type Kit, recordColumns } from '../kit.ts';

/** Signing in through OpenID Connect providers. */
export function providerTables(k: Kit) {
  const identity_providers = k.table(
    'identity_providers',
    {
      ...recordColumns(k),
      issuer: k.text().notNull(),
      client_id: k.text().notNull(),
      /** Null: a public client. An import brings none, although there was one where it came from. */
      client_secret: k.json<Sealed | 'missing'>(),
      scopes: k.json<string[]>().notNull(),
      groups_claim: k.text(),
      allowed_domains: k.json<string[]>().notNull(),
      create_people: k.bool().notNull(),
      default_role: k.text().$type<ProvidedRole>(),
      role_by_group: k.json<Record<string, ProvidedRole>>().notNull(),
      enabled: k.bool().notNull(),
    },
    (t) => [k.unique('identity_providers_name').on(t.name)],
  );
  /** Who somebody is at an issuer. A person is found by this alone. */
  const identities = k.table(
    'identities',
    {
      id: k.text().primaryKey(),
      issuer: k.text().notNull(),
      subject: k.text().notNull(),
      person_id: k.text().notNull(),
      /** The person through whose invitation it was linked; null: its own person, or the provider. */
      invited_by: k.text(),
      created_at: k.text().notNull(),
      last_used_at: k.text().notNull(),
    },
    (t) => [k.unique('identities_subject').on(t.issuer, t.subject), k.index('identities_person').on(t.person_id)],
  );
  /**
   * Sign-ins that are at a provider now. `id` is the SHA-256 of the state and `browser` that of the browser's cookie; verifier and
   * nonce follow from both, so nothing in here finishes a sign-in.
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
      /** The signed-in person whose account is being linked. */
      person_id: k.text(),
      expires_at: k.text().notNull(),
    },
    (t) => [k.index('provider_sign_ins_expiry').on(t.expires_at)],
  );
  return { identity_providers, identities, provider_sign_ins };
}
