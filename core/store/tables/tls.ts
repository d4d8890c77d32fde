import type { Sealed } from '#core/contract/fields.ts';
import type { Kit } from '../kit.ts';

/** HTTPS: certificates and accounts at the authorities that issue them. */
export function tlsTables(k: Kit) {
  /** One row: the served certificate, and the state of its next order. */
  const certificates = k.table('certificates', {
    id: k.int().primaryKey(),
    /** Directory of the authority that issued it. Another directory, such as staging, requires another certificate. */
    directory: k.text(),
    domains: k.json<string[]>().notNull(),
    /** PEM, with the leaf first. */
    chain: k.text(),
    private_key: k.json<Sealed>(),
    issuer: k.text(),
    valid_from: k.text(),
    valid_until: k.text(),
    renew_at: k.text(),
    /** When an order became due; null when none is due or running. */
    requested_at: k.text(),
    forced: k.bool().notNull(),
    /** Consecutive failed orders with the settings of `ordered_for`. */
    failures: k.int().notNull(),
    /** The settings of the latest order. */
    ordered_for: k.text(),
    last_error: k.text(),
    /** Earliest automatic order with the same settings, after a failure or a success. */
    next_try_at: k.text(),
  });
  const acme_accounts = k.table('acme_accounts', {
    directory: k.text().primaryKey(),
    private_key: k.json<Sealed>().notNull(),
    /** The account's URL at the authority, once it is known. */
    url: k.text(),
  });
  return { certificates, acme_accounts };
}
