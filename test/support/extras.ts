import { eq } from 'drizzle-orm';
import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { isSecretEntry } from '#core/definitions/connection-draft.ts';
import { noteChange } from '#core/store/journal.ts';
import { secretPath } from '#core/sources/source-pool.ts';

/** Extra parameters of a connection as an earlier version stored them, without looking at them. */
export async function storeExtras(app: ControlPlane, id: string, extra_params: Readonly<Record<string, string>>): Promise<void> {
  const { connections } = app.store.tables;
  const stored = Object.entries(extra_params).map(([key, value]) => {
    const sealed = { $sealed: app.keyring.seal(value, secretPath(id, `extra_params/${key}`)) };
    return [key, isSecretEntry(key) ? sealed : value];
  });
  const values = { extra_params: Object.fromEntries(stored) };
  await app.store.write(async (tx) => {
    await noteChange(app.store, tx, 'connection', id);
    await tx.update(connections).set(values).where(eq(connections.id, id));
  });
}
