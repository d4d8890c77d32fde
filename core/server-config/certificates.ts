import type { Platform } from '#core/platform/platform.ts';
import type { Schema } from '#core/store/schema.ts';
import { eq, and } from 'drizzle-orm';
import type { Db } from '#core/store/store.ts';
import type { FieldError } from '#core/errors.ts';
import type { Settings } from '#core/settings/settings.ts';
import { domainsOf } from '#core/settings/public-urls.ts';
import { checksum } from '#snapshots/format/canonical.ts';

/** Id of the only row. */
const ROW = 1;

const KEY_PATH = `certificate/${ROW}/private_key`;

const accountPath = (directory: string): string => `acme_account/${directory}/private_key`;

/** Key of the response to a challenge. The authority may request it from any server. */
export const challengeKey = (token: string): string => `acme-challenge:${token}`;

const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory';

const STAGING = 'https://acme-staging-v02.api.letsencrypt.org/directory';

export type CertificateRow = Schema['certificates']['$inferSelect'];

const NOTHING: CertificateRow = {
  id: ROW,
  directory: null,
  domains: [],
  chain: null,
  private_key: null,
  issuer: null,
  valid_from: null,
  valid_until: null,
  renew_at: null,
  requested_at: null,
  forced: false,
  failures: 0,
  ordered_for: null,
  last_error: null,
  next_try_at: null,
};

export async function readCertificate(app: Platform, tx: Db = app.store.db): Promise<CertificateRow> {
  const { certificates } = app.store.tables;
  const rows = await tx.select().from(certificates).where(eq(certificates.id, ROW));
  return rows[0] ?? NOTHING;
}

export async function writeCertificate(app: Platform, change: Partial<Omit<CertificateRow, 'id'>>): Promise<void> {
  const { certificates } = app.store.tables;
  await app.store.write((tx) =>
    tx
      .insert(certificates)
      .values({ ...NOTHING, ...change })
      .onConflictDoUpdate({ target: certificates.id, set: change }),
  );
}

/** Removes a request, unless a newer one has replaced it. */
export async function endRequest(app: Platform, requested_at: string): Promise<void> {
  const { certificates } = app.store.tables;
  const same = and(eq(certificates.id, ROW), eq(certificates.requested_at, requested_at));
  await app.store.write((tx) => tx.update(certificates).set({ requested_at: null, forced: false }).where(same));
}

export const sealCertificateKey = (app: Platform, pem: string) => ({ $sealed: app.keyring.seal(pem, KEY_PATH) });

/** Throws `secrets_unavailable` when no key opens it. */
export const openCertificateKey = (app: Platform, row: CertificateRow): string | null =>
  row.private_key === null ? null : app.keyring.open(row.private_key.$sealed, KEY_PATH);

export interface AcmeAccount {
  readonly key: string;
  readonly url: string | null;
}

/** The account at an authority. Null when there is none yet. */
export async function readAccount(app: Platform, directory: string): Promise<AcmeAccount | null> {
  const { acme_accounts } = app.store.tables;
  const rows = await app.store.db.select().from(acme_accounts).where(eq(acme_accounts.directory, directory));
  const row = rows[0];
  if (row === undefined) return null;
  return { key: app.keyring.open(row.private_key.$sealed, accountPath(directory)), url: row.url };
}

export async function writeAccount(app: Platform, directory: string, { key, url }: AcmeAccount): Promise<void> {
  const { acme_accounts } = app.store.tables;
  const row = { private_key: { $sealed: app.keyring.seal(key, accountPath(directory)) }, url };
  await app.store.write((tx) =>
    tx
      .insert(acme_accounts)
      .values({ directory, ...row })
      .onConflictDoUpdate({ target: acme_accounts.directory, set: row }),
  );
}

/** The directory for certificate orders. */
export const directoryOf = ({ env }: Platform): string =>
  env.SVC_ACME_DIRECTORY_URL ?? (env.SVC_SSL_STAGING ? STAGING : LETS_ENCRYPT);

/** Settings that are missing for an order. */
export function missingForOrder(settings: Settings): FieldError[] {
  const { ssl_enabled, acme_email, acme_challenge, dns_provider, dns_credentials } = settings;
  const by_dns = acme_challenge === 'dns-01';
  const faults: [boolean, string, string][] = [
    [!ssl_enabled, 'ssl_enabled', 'ssl_enabled is off. Turn it on to order a certificate.'],
    [
      domainsOf(settings).length === 0,
      'ui_domain',
      'ui_domain or mcp_domain is required. The certificate is issued for these domains.',
    ],
    [acme_email === null, 'acme_email', 'acme_email is required. It is the contact of the account at the certificate authority.'],
    [by_dns && dns_provider === null, 'dns_provider', 'dns_provider is required for the challenge dns-01.'],
    [by_dns && dns_credentials === null, 'dns_credentials', 'dns_credentials are required for the challenge dns-01.'],
  ];
  return faults.filter(([missing]) => missing).map(([, field, message]) => ({ field, message }));
}

/** Identifies the settings of an order. After a change of these, a failed order is retried at once. */
export function orderKey(app: Platform, settings: Settings): string {
  const { acme_email, acme_challenge, dns_provider, dns_credentials } = settings;
  const by_dns = acme_challenge === 'dns-01' ? [dns_provider, dns_credentials] : [];
  return checksum(JSON.stringify([directoryOf(app), domainsOf(settings), acme_email, acme_challenge, ...by_dns]));
}

/** Whether the stored certificate matches the settings and has not expired. */
export function isCurrent(app: Platform, settings: Settings, row: CertificateRow): boolean {
  const domains = domainsOf(settings);
  const same = domains.length === row.domains.length && domains.every((name) => row.domains.includes(name));
  return same && row.directory === directoryOf(app) && isValid(app, row);
}

export const isValid = (app: Platform, { chain, valid_until }: CertificateRow): boolean =>
  chain !== null && valid_until !== null && valid_until > app.clock().toISOString();
