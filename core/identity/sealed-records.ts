import { asc, eq, inArray } from 'drizzle-orm';
import type { Db, Store } from '#core/store/open.ts';
import type { Schema } from '#core/store/schema.ts';
import { readFirst } from '#core/store/trees.ts';
import { type PlacedSecret, secretsIn } from '#core/lib/places.ts';
import { type Keyring, openOrNull } from '#core/lib/secrets.ts';
import { HOLDS_SECRETS } from '#snapshots/tree.ts';

/** A whole app, or the store and the ring alone, when a lost key keeps the app from starting. */
export interface Vault {
  readonly store: Store;
  readonly keyring: Keyring;
}

/** A record that holds secrets. */
export interface Holder {
  /** Such as `connection shop`. */
  readonly name: string;
  readonly secrets: readonly PlacedSecret[];
  readonly table: keyof Schema;
  /** The column that finds the record, and its value there. */
  readonly key: string;
  readonly id: string | number;
  /** JSON columns that may hold secrets. */
  readonly columns: readonly string[];
}

export const opens = (keyring: Keyring, { sealed, place }: PlacedSecret): boolean => openOrNull(keyring, sealed, place) !== null;

/** The records that the server works with; a table with a sealed column belongs here. */
export async function liveHolders({ store: { db, tables } }: Vault): Promise<Holder[]> {
  const { meta, connections, people, server_config, mcp_tokens, certificates, acme_accounts, signing_keys } = tables;
  const [fingerprint, databases, accounts, settings, tokens, chains, acme, signing] = await Promise.all([
    db.select().from(meta).where(eq(meta.key, 'fingerprint_key')),
    db.select().from(connections).orderBy(asc(connections.name)),
    db.select().from(people),
    db.select().from(server_config),
    db.select().from(mcp_tokens).where(eq(mcp_tokens.revoked, false)),
    db.select().from(certificates),
    db.select().from(acme_accounts),
    db.select().from(signing_keys),
  ]);
  const providers = await db.select().from(tables.identity_providers).orderBy(asc(tables.identity_providers.name));
  const webhooks = await db.select().from(tables.notices).orderBy(asc(tables.notices.name));
  const proposed = await db.select().from(tables.proposal_operations);
  const row = (table: keyof Schema, columns: string[], id: string | number, key = 'id') => ({ table, columns, id, key });
  const holders: Holder[] = [
    // A start seals it again by itself.
    ...fingerprint.map(({ key, value }) => ({
      name: 'the fingerprint key',
      secrets: [{ place: `meta/${key}`, sealed: value }],
      ...row('meta', [], key, 'key'),
    })),
    ...databases.map((connection) => ({
      name: `connection ${connection.name}`,
      secrets: secretsIn(connection, `connection/${connection.id}`),
      ...row('connections', ['password', 'ssl_key', 'extra_params'], connection.id),
    })),
    ...accounts.map((person) => ({
      name: `the account ${person.username}`,
      secrets: secretsIn(person, `admin/${person.id}`),
      ...row('people', ['totp_secret'], person.id),
    })),
    ...providers.map((provider) => ({
      name: `identity provider ${provider.name}`,
      secrets: secretsIn(provider, `identity_provider/${provider.id}`),
      ...row('identity_providers', ['client_secret'], provider.id),
    })),
    ...settings.map(({ id, settings: values }) => ({
      name: 'the server configuration',
      secrets: secretsIn(values, 'server_config'),
      ...row('server_config', ['settings'], id),
    })),
    ...tokens.map((token) => ({
      name: `access token ${token.name}`,
      secrets: secretsIn(token, `mcp_token/${token.id}`),
      ...row('mcp_tokens', ['secret_hash'], token.id),
    })),
    ...chains.map((certificate) => ({
      name: 'the certificate of this server',
      secrets: secretsIn(certificate, `certificate/${certificate.id}`),
      ...row('certificates', ['private_key'], certificate.id),
    })),
    ...acme.map((account) => ({
      name: `the account at ${new URL(account.directory).host}`,
      secrets: secretsIn(account, `acme_account/${account.directory}`),
      ...row('acme_accounts', ['private_key'], account.directory, 'directory'),
    })),
    ...webhooks.map((webhook) => ({
      name: `webhook ${webhook.name}`,
      secrets: secretsIn(webhook, `notice/${webhook.id}`),
      ...row('notices', ['secret'], webhook.id),
    })),
    ...proposed.map((operation) => ({
      name: `a proposal (${operation.summary})`,
      secrets: secretsIn(operation, `proposal_operation/${operation.id}`),
      ...row('proposal_operations', ['input'], operation.id),
    })),
    ...signing.map((key) => ({
      name: `the signing key ${key.kid.slice(0, 8)}`,
      secrets: secretsIn(key, `signing_key/${key.kid}`),
      ...row('signing_keys', ['private_key'], key.kid, 'kid'),
    })),
  ];
  return holders.filter(({ secrets }) => secrets.length > 0);
}

/** With what hosts are given: the active snapshot and candidates. */
export async function allHolders(vault: Vault): Promise<Pick<Holder, 'name' | 'secrets'>[]> {
  const served = await servedBlobs(vault.store);
  return [...(await liveHolders(vault)), ...served.map(({ name, blobs }) => ({ name, secrets: blobs.flatMap(blobSecrets) }))];
}

/** Every secret that a frozen entity holds, with its place. */
export function blobSecrets({ kind, text }: { readonly kind: string; readonly text: string }): PlacedSecret[] {
  if (!text.includes('"$sealed"')) return [];
  const frozen = JSON.parse(text) as { readonly id?: string };
  return secretsIn(frozen, kind === 'connection' ? `connection/${frozen.id}` : 'server_config');
}

/** What of the active snapshot and of each candidate may hold secrets. They may share it. */
export async function servedBlobs({ db, tables }: Pick<Store, 'db' | 'tables'>) {
  const { snapshots, deployment, blobs, candidates } = tables;
  const active = await db
    .select({ content: snapshots.content })
    .from(snapshots)
    .innerJoin(deployment, eq(deployment.active_version, snapshots.version));
  const beside = await db.select({ id: candidates.id, content: candidates.content }).from(candidates);
  const served = [
    ...active.map(({ content }) => ({ name: 'the active snapshot', is_active: true, content })),
    ...beside.map(({ id, content }) => ({ name: `candidate ${id}`, is_active: false, content })),
  ];
  if (served.length === 0) return [];
  const rows = await db
    .select()
    .from(blobs)
    .where(inArray(blobs.kind, [...HOLDS_SECRETS]));
  return Promise.all(
    served.map(async ({ content, ...one }) => {
      const hashes = await sealedHashes({ tables }, db, content);
      return { ...one, blobs: rows.filter(({ hash }) => hashes.has(hash)) };
    }),
  );
}

/** The kinds that hold secrets come first in a tree. */
export async function sealedHashes(store: Pick<Store, 'tables'>, tx: Db, content: string): Promise<Set<string>> {
  const leaves = await readFirst(store, tx, content, ({ kind }) => HOLDS_SECRETS.includes(kind));
  return new Set(leaves.map(({ hash }) => hash));
}
