import { eq, inArray, type SQL } from 'drizzle-orm';
import { readMeta } from '#core/store/meta.ts';
import type { Db, Store } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';
import { readFirst } from '#core/store/trees.ts';
import { type SecretAt, secretsIn } from '#core/lib/sealed-values.ts';
import { type Keyring, openOrNull } from '#core/lib/secrets.ts';
import { HOLDS_SECRETS } from '#snapshots/format/tree.ts';

/** A whole app, or the store and the ring alone, when a lost key keeps the app from starting. */
export interface SealedStore {
  readonly store: Store;
  readonly keyring: Keyring;
}

/** A record that holds secrets. */
export interface SealedRecord {
  /** Such as `connection shop`. */
  readonly name: string;
  readonly secrets: readonly SecretAt[];
  readonly table: keyof Schema;
  /** The column that finds the record, and its value there. */
  readonly key: string;
  readonly id: string | number;
  /** JSON columns that may hold secrets. */
  readonly columns: readonly string[];
}

export const opens = (keyring: Keyring, { sealed, place }: SecretAt): boolean => openOrNull(keyring, sealed, place) !== null;

/** The records that the server works with; a table with a sealed column belongs here. */
export async function liveRecords({ store }: SealedStore): Promise<SealedRecord[]> {
  const { db, tables } = store;
  /** @param place where the secrets of its records belong, before the id. @param columns JSON columns that may hold them. */
  const holdersIn = async <T extends keyof Schema>(
    table: T,
    place: string,
    columns: readonly string[],
    nameOf: (row: Schema[T]['$inferSelect']) => string,
    { key = 'id', where }: { readonly key?: string; readonly where?: SQL } = {},
  ): Promise<SealedRecord[]> => {
    // Every one of these tables is read alike.
    const rows = await db
      .select()
      .from(tables[table] as Schema['connections'])
      .where(where);
    const holders = rows.map((row) => {
      const id = (row as Record<string, unknown>)[key] as string | number;
      const secrets = secretsIn(row, `${place}/${id}`);
      return { name: nameOf(row), secrets, table, key, id, columns };
    });
    return holders.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  };
  const fingerprint = await readMeta(store, db, 'fingerprint_key');
  const found = await Promise.all([
    holdersIn('connections', 'connection', ['password', 'ssl_key', 'extra_params'], ({ name }) => `connection ${name}`),
    holdersIn('people', 'admin', ['totp_secret'], ({ username }) => `the account ${username}`),
    holdersIn('identity_providers', 'identity_provider', ['client_secret'], ({ name }) => `identity provider ${name}`),
    db
      .select()
      .from(tables.server_config)
      .then((rows) => rows.map(({ id, settings }) => ({ ...SETTINGS, id, secrets: secretsIn(settings, 'server_config') }))),
    holdersIn('mcp_tokens', 'mcp_token', ['secret_hash'], ({ name }) => `access token ${name}`, {
      where: eq(tables.mcp_tokens.revoked, false),
    }),
    holdersIn('certificates', 'certificate', ['private_key'], () => 'the certificate of this server'),
    holdersIn('acme_accounts', 'acme_account', ['private_key'], ({ directory }) => `the account at ${new URL(directory).host}`, {
      key: 'directory',
    }),
    holdersIn('notices', 'notice', ['secret'], ({ name }) => `webhook ${name}`),
    holdersIn('proposal_operations', 'proposal_operation', ['input'], ({ summary }) => `a proposal (${summary})`),
    holdersIn('signing_keys', 'signing_key', ['private_key'], ({ kid }) => `the signing key ${kid.slice(0, 8)}`, { key: 'kid' }),
  ]);
  // A start seals it again by itself.
  const own = fingerprint === null ? [] : [{ ...FINGERPRINT, secrets: [{ place: 'meta/fingerprint_key', sealed: fingerprint }] }];
  return [...own, ...found.flat()].filter(({ secrets }) => secrets.length > 0);
}

const FINGERPRINT = { name: 'the fingerprint key', table: 'meta', key: 'key', id: 'fingerprint_key', columns: [] } as const;
const SETTINGS = { name: 'the server configuration', table: 'server_config', key: 'id', columns: ['settings'] } as const;

/** With what hosts are given: the active snapshot and candidates. */
export async function allHolders(vault: SealedStore): Promise<Pick<SealedRecord, 'name' | 'secrets'>[]> {
  const served = await servedBlobs(vault.store);
  return [...(await liveRecords(vault)), ...served.map(({ name, blobs }) => ({ name, secrets: blobs.flatMap(blobSecrets) }))];
}

/** Every secret that a frozen entity holds, with its place. */
export function blobSecrets({ kind, text }: { readonly kind: string; readonly text: string }): SecretAt[] {
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
