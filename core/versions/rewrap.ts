import type { Platform } from '#core/platform/platform.ts';
import { clearSnapshotCache, type WithSnapshots } from './stored-snapshots.ts';
import { and, eq } from 'drizzle-orm';
import { noteChange } from '#core/store/journal.ts';
import type { Schema } from '#core/store/schema.ts';
import { AppError } from '#core/errors.ts';
import type { SecretAt } from '#core/lib/sealed-values.ts';
import type { Keyring } from '#core/lib/secrets.ts';
import { sealedHashOf } from '#snapshots/format/canonical.ts';
import { blobSecrets, type SealedRecord, liveRecords, opens, servedBlobs } from './sealed-records.ts';

interface Rewrapped {
  /** Records and candidates. */
  readonly entities: number;
  readonly active_snapshot: boolean;
}

/**
 * Seals every stale secret of live records, of the active snapshot and of candidates with the first key. One transaction per record,
 * no new version, no history entry. A secret that no key opens stays as it is.
 */
export async function rewrapSecrets(app: Platform & WithSnapshots): Promise<Rewrapped> {
  let entities = 0;
  for (const holder of await liveRecords(app)) entities += await rewrapHolder(app, holder);
  const served = await rewrapServed(app);
  return { ...served, entities: entities + served.entities };
}

/**
 * Seals the stale secrets of the active snapshot and of candidates, which hold copies of the ciphertexts. Their checksums stay
 * the same, because they are computed over fingerprints.
 */
export async function rewrapServed(app: Platform & WithSnapshots): Promise<Rewrapped> {
  return app.store.write(async (tx) => {
    const served = await servedBlobs({ ...app.store, db: tx });
    const fresh = new Set<string>();
    for (const blob of new Map(served.flatMap(({ blobs }) => blobs.map((one) => [one.hash, one]))).values()) {
      const text = rewrapText(app.keyring, blob.text, blobSecrets(blob));
      if (text === blob.text) continue;
      if (sealedHashOf(text) !== blob.hash) {
        throw new AppError('internal', 'Re-encrypting the secrets of a snapshot would have changed it.');
      }
      const { blobs } = app.store.tables;
      await tx.update(blobs).set({ text }).where(eq(blobs.hash, blob.hash));
      fresh.add(blob.hash);
    }
    clearSnapshotCache(app);
    const changed = served.filter(({ blobs }) => blobs.some(({ hash }) => fresh.has(hash)));
    const active_snapshot = changed.some(({ is_active }) => is_active);
    return { entities: changed.length - Number(active_snapshot), active_snapshot };
  });
}

async function rewrapHolder(
  { store, keyring }: Platform,
  { table: name, key, id, columns, secrets }: SealedRecord,
): Promise<number> {
  if (!secrets.some((secret) => keyring.stale(secret.sealed) && opens(keyring, secret))) return 0;
  // These columns are JSON in every table, so the type of one table serves for all.
  const table = store.tables[name] as Schema['connections'];
  const equals = (of: string, value: unknown) => eq(table[of as 'extra_params'], value as Record<string, unknown>);
  return store.write(async (tx) => {
    if (name === 'connections') await noteChange(store, tx, 'connection', String(id));
    const [row] = (await tx.select().from(table).where(equals(key, id))) as Record<string, unknown>[];
    const change: Record<string, Record<string, unknown>> = {};
    for (const of of row === undefined ? [] : columns) {
      const text = JSON.stringify(row?.[of] ?? null);
      const fresh = rewrapText(keyring, text, secrets);
      if (fresh !== text) change[of] = JSON.parse(fresh) as Record<string, unknown>;
    }
    const changed = Object.keys(change);
    if (changed.length === 0) return 0;
    // A record that changed since it was read is skipped: that write sealed it with the first key.
    const unchanged = changed.map((of) => equals(of, row?.[of]));
    const stored = await tx
      .update(table)
      .set(change)
      .where(and(equals(key, id), ...unchanged))
      .returning();
    return stored.length;
  });
}

/** Replaces the stale ciphertexts of a JSON text. Each has a different nonce, so no two are equal. */
function rewrapText(keyring: Keyring, text: string, secrets: readonly SecretAt[]): string {
  let fresh = text;
  for (const secret of secrets) {
    if (!keyring.stale(secret.sealed) || !opens(keyring, secret)) continue;
    const { sealed, path } = secret;
    fresh = fresh.replaceAll(sealed, keyring.seal(keyring.open(sealed, path), path));
  }
  return fresh;
}
