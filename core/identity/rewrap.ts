import { and, eq } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import { noteChange } from '#core/store/journal.ts';
import type { Schema } from '#core/store/schema.ts';
import { AppError } from '#core/errors.ts';
import type { PlacedSecret } from '#core/lib/places.ts';
import type { Keyring } from '#core/lib/secrets.ts';
import { sealedHashOf } from '#snapshots/canonical.ts';
import { activeBlobs, blobSecrets, type Holder, liveHolders, opens } from './sealed-records.ts';

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
      if (sealedHashOf(text) !== blob.hash) {
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
