import type { Sealed } from '#core/contract/fields.ts';
import type { Kit } from '../kit.ts';

/** HTTPS: certificates and accounts at the authorities that issue them. */
export function tlsTables(k: Kit) {
  /** One row: the certificate that is served, and how its next order stands. */
  const certificates = k.table('certificates', {
    id: k.int().primaryKey(),
    /** Directory of the authority that issued it: another one, such as that for staging, means another certificate. */
    directory: k.text(),
    domains: k.json<string[]>().notNull(),
    /** PEM, the leaf first. */
    chain: k.text(),
    private_key: k.json<Sealed>(),
    issuer: k.text(),
    valid_from: k.text(),
    valid_until: k.text(),
    renew_at: k.text(),
    /** Since when an order is wanted or under way. */
    requested_at: k.text(),
    forced: k.bool().notNull(),
    /** Read by servers of earlier versions alone. */
    lease_by: k.text(),
    lease_until: k.text(),
    /** Orders that failed one after the other, for the settings that `failed_for` is made of. */
    failures: k.int().notNull(),
    failed_for: k.text(),
    last_error: k.text(),
    next_try_at: k.text(),
  });
  const acme_accounts = k.table('acme_accounts', {
    directory: k.text().primaryKey(),
    private_key: k.json<Sealed>().notNull(),
    /** Where the authority keeps the account, once it is known. */
    url: k.text(),
  });
  return { certificates, acme_accounts };
}
