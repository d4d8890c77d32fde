import { eq, inArray, type SQL } from 'drizzle-orm';
import { readMeta } from '#core/store/meta.ts';
import type { Db, Store } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';
import { readFirst } from '#core/store/trees.ts';
import { type SecretAt, secretsIn } from '#core/lib/sealed-values.ts';
import { type Keyring, openOrNull } from '#core/lib/secrets.ts';
import { HOLDS_SECRETS } from '#snapshots/format/tree.ts';

/** The parts of the app that read sealed values. A server that cannot start because of a missing key has only these. */
export interface SealedStore {
  readonly store: Store;
  readonly keyring: Keyring;
}

/** A record that holds secrets. */
export interface SealedRecord {
  /** For example `connection shop`. */
  readonly name: string;
  readonly secrets: readonly SecretAt[];
  readonly table: keyof Schema;
  /** The column that finds the record, and its value there. */
  readonly key: string;
  readonly id: string | number;
  /** JSON columns that may hold secrets. */
  readonly columns: readonly string[];
}

export const opens = (keyring: Keyring, { sealed, path }: SecretAt): boolean => openOrNull(keyring, sealed, path) !== null;

/** Every stored record with a secret, snapshots aside. A new table with a sealed column has to be listed here. */
export async function liveRecords({ store }: SealedStore): Promise<SealedRecord[]> {
  const { db, tables } = store;
  /** @param prefix the part of a secret's path before the id. @param columns JSON columns that may hold secrets. */
  const holdersIn = async <T extends keyof Schema>(
    table: T,
    prefix: string,
    columns: readonly string[],
    nameOf: (row: Schema[T]['$inferSelect']) => string,
    { key = 'id', where }: { readonly key?: string; readonly where?: SQL } = {},
  ): Promise<SealedRecord[]> => {
    // These tables differ, but all are read in the same way.
    const rows = await db
      .select()
      .from(tables[table] as Schema['connections'])
      .where(where);
    const holders = rows.map((row) => {
      const id = (row as Record<string, unknown>)[key] as string | number;
      const secrets = secretsIn(row, `${prefix}/${id}`);
      return { name: nameOf(row), secrets, table, key, id, columns };
    });
    return holders.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  };
  const fingerprint = await readMeta(store, db, 'fingerprint_key');
  const found = await Promise.all([
    holdersIn('connections', 'connection', ['password', 'ssl_key', 'ssh', 'extra_params'], ({ name }) => `connection ${name}`),
    holdersIn('people', 'admin', ['totp_secret'], ({ username }) => `the account ${username}`),
    holdersIn('identity_providers', 'identity_provider', ['client_secret'], ({ name }) => `identity provider ${name}`),
    db
      .select()
      .from(tables.server_config)
      .then((rows) => rows.map(({ id, settings }) => ({ ...SETTINGS, id, secrets: secretsIn(settings, 'server_config') }))),
    holdersIn('mcp_tokens', 'mcp_token', ['secret_hash', 'previous_hash'], ({ name }) => `access token ${name}`, {
      where: eq(tables.mcp_tokens.revoked, false),
    }),
    holdersIn('certificates', 'certificate', ['private_key'], () => 'the certificate of this server'),
    holdersIn('acme_accounts', 'acme_account', ['private_key'], ({ directory }) => `the account at ${new URL(directory).host}`, {
      key: 'directory',
    }),
    holdersIn('notices', 'notice', ['secret'], ({ name }) => `webhook ${name}`),
    holdersIn('proposal_operations', 'proposal_operation', ['input'], ({ summary }) => `a proposal (${summary})`),
    holdersIn('signing_keys', 'signing_key', ['private_key'], ({ kid }) => `the signing key ${kid.slice(0, 8)}`, { key: 'kid' }),
    holdersIn('definition_keys', 'definition_key', ['private_key'], ({ kid }) => `the key ${kid.slice(0, 8)} of definitions`, {
      key: 'kid',
    }),
    holdersIn('audit_keys', 'audit_key', ['private_key'], ({ kid }) => `the key ${kid.slice(0, 8)} of the audit log`, {
      key: 'kid',
    }),
  ]);
  // Every start seals the fingerprint key with the first key.
  const fingerprint_key =
    fingerprint === null ? [] : [{ ...FINGERPRINT, secrets: [{ path: 'meta/fingerprint_key', sealed: fingerprint }] }];
  return [...fingerprint_key, ...found.flat()].filter(({ secrets }) => secrets.length > 0);
}

const FINGERPRINT = { name: 'the fingerprint key', table: 'meta', key: 'key', id: 'fingerprint_key', columns: [] } as const;
const SETTINGS = { name: 'the server configuration', table: 'server_config', key: 'id', columns: ['settings'] } as const;

/** The live records, the active snapshot and the candidates. */
export async function allHolders(vault: SealedStore): Promise<Pick<SealedRecord, 'name' | 'secrets'>[]> {
  const served = await servedBlobs(vault.store);
  return [...(await liveRecords(vault)), ...served.map(({ name, blobs }) => ({ name, secrets: blobs.flatMap(blobSecrets) }))];
}

/** Every secret of a frozen entity, with its path. */
export function blobSecrets({ kind, text }: { readonly kind: string; readonly text: string }): SecretAt[] {
  if (!text.includes('"$sealed"')) return [];
  const frozen = JSON.parse(text) as { readonly id?: string };
  return secretsIn(frozen, kind === 'connection' ? `connection/${frozen.id}` : 'server_config');
}

/** The blobs of the active snapshot and of each candidate that may hold secrets. Snapshots can share a blob. */
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

/** Hashes of the leaves that may hold secrets. They come first in a tree. */
export async function sealedHashes(store: Pick<Store, 'tables'>, tx: Db, content: string): Promise<Set<string>> {
  const leaves = await readFirst(store, tx, content, ({ kind }) => HOLDS_SECRETS.includes(kind));
  return new Set(leaves.map(({ hash }) => hash));
}
