import { and, asc, eq, gt, inArray, like, or, sql } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import { noteChange } from '#core/store/journal.ts';
import type { Store } from '#core/store/open.ts';
import type { Schema } from '#core/store/schema.ts';
import { AppError } from '#core/errors.ts';
import { keyOf, type PlacedSecret, secretsIn } from '#core/lib/places.ts';
import { type Keyring, openOrNull } from '#core/lib/secrets.ts';
import { hashOf } from '#snapshots/canonical.ts';
import { type Kind, parseTree } from '#snapshots/tree.ts';

/** A whole app, or the store and the ring alone, when a lost key keeps the app from starting. */
export interface Vault {
  readonly store: Store;
  readonly keyring: Keyring;
}

/** How much one key still protects. */
export interface KeyUse {
  readonly key_id: string;
  /** It stands in SVC_ENCRYPTION_KEY. */
  readonly configured: boolean;
  /** The first one: it seals whatever is written. */
  readonly current: boolean;
  /** Records with a secret under this key. */
  readonly entities: number;
  readonly active_snapshot: boolean;
  /** Kept snapshots, the active one included. */
  readonly snapshots: number;
  /** History entries. */
  readonly history: number;
  /** The server starts without it; older snapshots and history entries under it could not be restored any more. */
  readonly removable: boolean;
}

/** A record that holds secrets. */
interface Holder {
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

const SEALED = /"\$sealed":"v1\.([0-9a-f]{8})\./g;
/** Kinds of frozen entities that may hold secrets. */
export const HOLDS_SECRETS: readonly Kind[] = ['server', 'connection'];
const PAGE = 500;
const NAMED = 5;

/** Why secrets of live records or of the active snapshot cannot be opened, one sentence a key; empty when all can. */
export async function secretFaults(vault: Vault): Promise<string[]> {
  const lost = new Map<string, string[]>();
  const damaged: string[] = [];
  for (const { name, secrets } of await allHolders(vault)) {
    for (const secret of secrets) {
      if (opens(vault.keyring, secret)) continue;
      const key_id = keyOf(secret.sealed);
      const names = vault.keyring.key_ids.includes(key_id) ? damaged : (lost.get(key_id) ?? []);
      if (names !== damaged) lost.set(key_id, names);
      if (!names.includes(name)) names.push(name);
    }
  }
  return [
    ...[...lost].map(
      ([key_id, names]) =>
        `SVC_ENCRYPTION_KEY lacks the key ${key_id}, which encrypts secrets of ${listed(names)}. Add that key to the end of the list.`,
    ),
    ...(damaged.length === 0
      ? []
      : [`Secrets of ${listed(damaged)} cannot be decrypted: they were changed, or belong to another record. Restore a backup.`]),
  ];
}

/** Throws `secrets_unavailable`, naming every missing key. Older snapshots and history entries are not asked. */
export async function requireSecrets(vault: Vault): Promise<void> {
  const faults = await secretFaults(vault);
  if (faults.length > 0) throw new AppError('secrets_unavailable', faults.join(' '));
}

/** What every key protects, the first key of the ring first. */
export async function keysReport(vault: Vault): Promise<KeyUse[]> {
  const { store, keyring } = vault;
  const { deployment } = store.tables;
  const entities = countKeys((await liveHolders(vault)).map(({ secrets }) => secrets.map(({ sealed }) => keyOf(sealed))));
  const active = (await store.db.select({ version: deployment.active_version }).from(deployment))[0]?.version ?? null;
  const snapshots = await snapshotKeys(store);
  const history = await historyKeys(store);
  const of_active = new Set(snapshots.find(({ version }) => version === active)?.keys);
  const in_snapshots = countKeys(snapshots.map(({ keys }) => keys));
  const ids = new Set([...keyring.key_ids, ...entities.keys(), ...in_snapshots.keys(), ...history.keys()]);
  return [...ids].map((key_id) => {
    const needed = (entities.get(key_id) ?? 0) > 0 || of_active.has(key_id);
    const current = key_id === keyring.current_key_id;
    return {
      key_id,
      configured: keyring.key_ids.includes(key_id),
      current,
      entities: entities.get(key_id) ?? 0,
      active_snapshot: of_active.has(key_id),
      snapshots: in_snapshots.get(key_id) ?? 0,
      history: history.get(key_id) ?? 0,
      removable: !current && !needed,
    };
  });
}

/**
 * Seals every stale secret of live records and of the active snapshot with the first key: one transaction a record, no new
 * version, no history entry. What no key opens is left as it is.
 */
export async function rewrapSecrets(app: App): Promise<{ entities: number; active_snapshot: boolean }> {
  let entities = 0;
  for (const holder of await liveHolders(app)) entities += await rewrapHolder(app, holder);
  return { entities, active_snapshot: await rewrapActiveSnapshot(app) };
}

/**
 * A snapshot holds copies of the ciphertexts of its day. The active one is sealed anew as it stands: its checksum counts
 * fingerprints, which stay. Says whether there was something to do.
 */
export async function rewrapActiveSnapshot(app: App): Promise<boolean> {
  const { blobs } = app.store.tables;
  return app.store.write(async (tx) => {
    let sealed_anew = false;
    for (const blob of await activeBlobs({ ...app.store, db: tx })) {
      const text = rewrapText(app.keyring, blob.text, blobSecrets(blob));
      if (text === blob.text) continue;
      if (hashOf(text) !== blob.hash) {
        throw new AppError('internal', 'Re-encrypting the secrets of the active snapshot would have changed it.');
      }
      await tx.update(blobs).set({ text }).where(eq(blobs.hash, blob.hash));
      sealed_anew = true;
    }
    app.snapshot_cache.versions.clear();
    app.snapshot_cache.texts = new Map();
    return sealed_anew;
  });
}

async function rewrapHolder({ store, keyring }: App, { table: name, key, id, columns, secrets }: Holder): Promise<number> {
  if (!secrets.some((secret) => keyring.stale(secret.sealed) && opens(keyring, secret))) return 0;
  // The columns named are JSON in every table; which one it is does not matter here.
  const table = store.tables[name] as unknown as Schema['connections'];
  const equals = (of: string, value: unknown) => eq(table[of as 'extra_params'], value as Record<string, unknown>);
  return store.write(async (tx) => {
    if (name === 'connections') await noteChange(store, tx, 'connection', String(id));
    const [row] = (await tx.select().from(table).where(equals(key, id))) as unknown as Record<string, unknown>[];
    const change: Record<string, Record<string, unknown>> = {};
    for (const of of row === undefined ? [] : columns) {
      const text = JSON.stringify(row?.[of] ?? null);
      const fresh = rewrapText(keyring, text, secrets);
      if (fresh !== text) change[of] = JSON.parse(fresh) as Record<string, unknown>;
    }
    const changed = Object.keys(change);
    if (changed.length === 0) return 0;
    // Whoever writes meanwhile seals with the first key as well, and wins.
    const unchanged = changed.map((of) => equals(of, row?.[of]));
    const stored = await tx
      .update(table)
      .set(change)
      .where(and(equals(key, id), ...unchanged))
      .returning();
    return stored.length;
  });
}

/** A JSON text with its stale ciphertexts replaced. Each has a nonce of its own, so none can be mistaken for another. */
function rewrapText(keyring: Keyring, text: string, secrets: readonly PlacedSecret[]): string {
  let fresh = text;
  for (const secret of secrets) {
    if (!keyring.stale(secret.sealed) || !opens(keyring, secret)) continue;
    fresh = fresh.replaceAll(secret.sealed, keyring.seal(keyring.open(secret.sealed, secret.place), secret.place));
  }
  return fresh;
}

const opens = (keyring: Keyring, { sealed, place }: PlacedSecret): boolean => openOrNull(keyring, sealed, place) !== null;

/** The records that the server works with; a table with a sealed column belongs here. */
async function liveHolders({ store: { db, tables } }: Vault): Promise<Holder[]> {
  const { meta, connections, admins, server_config, mcp_tokens, certificates, acme_accounts } = tables;
  const [fingerprint, databases, accounts, settings, tokens, chains, acme] = await Promise.all([
    db.select().from(meta).where(eq(meta.key, 'fingerprint_key')),
    db.select().from(connections).orderBy(asc(connections.name)),
    db.select().from(admins),
    db.select().from(server_config),
    db.select().from(mcp_tokens).where(eq(mcp_tokens.revoked, false)),
    db.select().from(certificates),
    db.select().from(acme_accounts),
  ]);
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
    ...accounts.map((admin) => ({
      name: `administrator ${admin.username}`,
      secrets: secretsIn(admin, `admin/${admin.id}`),
      ...row('admins', ['totp_secret'], admin.id),
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
  ];
  return holders.filter(({ secrets }) => secrets.length > 0);
}

/** With the active snapshot. */
async function allHolders(vault: Vault): Promise<Pick<Holder, 'name' | 'secrets'>[]> {
  const blobs = await activeBlobs(vault.store);
  return [...(await liveHolders(vault)), { name: 'the active snapshot', secrets: blobs.flatMap(blobSecrets) }];
}

/** Every secret that a frozen entity holds, with its place. */
export function blobSecrets({ kind, text }: { readonly kind: Kind; readonly text: string }): PlacedSecret[] {
  if (!text.includes('"$sealed"')) return [];
  const frozen = JSON.parse(text) as { readonly id?: string };
  return secretsIn(frozen, kind === 'connection' ? `connection/${frozen.id}` : 'server_config');
}

/** What of the active snapshot may hold secrets. */
async function activeBlobs({ db, tables }: Pick<Store, 'db' | 'tables'>) {
  const { snapshots, deployment, blobs } = tables;
  const [active] = await db
    .select({ content: snapshots.content })
    .from(snapshots)
    .innerJoin(deployment, eq(deployment.active_version, snapshots.version));
  if (active === undefined) return [];
  const hashes = sealedHashes(active.content);
  const rows = await db
    .select()
    .from(blobs)
    .where(inArray(blobs.kind, [...HOLDS_SECRETS]));
  return rows.filter(({ hash }) => hashes.has(hash));
}

const sealedHashes = (tree: string): Set<string> =>
  new Set(parseTree(tree).leaves.flatMap(({ kind, hash }) => (HOLDS_SECRETS.includes(kind) ? [hash] : [])));

async function snapshotKeys({ db, tables: { snapshots, blobs } }: Store): Promise<{ version: number; keys: string[] }[]> {
  const rows = await db
    .select()
    .from(blobs)
    .where(inArray(blobs.kind, [...HOLDS_SECRETS]));
  const keys_of = new Map(rows.map(({ hash, text }) => [hash, keysIn(text)]));
  const versions = await db.select({ version: snapshots.version }).from(snapshots);
  const found: { version: number; keys: string[] }[] = [];
  for (const { version } of versions) {
    const [row] = await db.select({ content: snapshots.content }).from(snapshots).where(eq(snapshots.version, version));
    const hashes = row === undefined ? [] : [...sealedHashes(row.content)];
    found.push({ version, keys: hashes.flatMap((hash) => keys_of.get(hash) ?? []) });
  }
  return found;
}

async function historyKeys({ db, tables: { history } }: Store): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const sealed = or(like(history.before, '%"$sealed"%'), like(history.after, '%"$sealed"%'));
  for (let last = ''; ;) {
    const rows = await db
      .select({ id: history.id, before: sql<string | null>`${history.before}`, after: sql<string | null>`${history.after}` })
      .from(history)
      .where(and(gt(history.id, last), sealed))
      .orderBy(asc(history.id))
      .limit(PAGE);
    for (const [key, count] of countKeys(rows.map(({ before, after }) => keysIn(`${before ?? ''}${after ?? ''}`)))) {
      counts.set(key, (counts.get(key) ?? 0) + count);
    }
    if (rows.length < PAGE) return counts;
    last = rows.at(-1)?.id ?? last;
  }
}

const keysIn = (text: string): string[] => [...text.matchAll(SEALED)].map((match) => match[1] ?? '');

/** In how many of the lists each key occurs. */
function countKeys(lists: readonly (readonly string[])[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const list of lists) for (const key of new Set(list)) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, NAMED);
  const more = names.length - shown.length;
  const all = more > 0 ? [...shown, `${more} more`] : shown;
  return all.length < 2 ? all.join('') : `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`;
}
