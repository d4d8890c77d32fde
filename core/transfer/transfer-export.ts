import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithProviders } from '#core/identity/providers/metadata.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import { type Export, FORMAT } from '#core/contract/transfer.ts';
import type { TestOwner } from '#core/contract/definitions/tests.ts';
import type { Selection } from '#core/contract/definitions/toolsets.ts';
import { entityTable, type StoredEntity, type EntityValues } from '#core/store/entity-table.ts';
import type { Context } from '#core/context/context.ts';
import { createSlices } from '#core/lib/slices.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import type { SealedSsh } from '#core/contract/definitions/connection-fields.ts';
import { exportSsh } from '#core/definitions/ssh-draft.ts';
import { isSecretEntry } from '#core/definitions/connection-draft.ts';
import { toDraft } from '#core/records/versioned.ts';
import { IN_WRITE_ORDER, type EntityService } from '#core/definitions/entity-services.ts';
import { isReference, isSealed } from '#core/lib/sealed-values.ts';
import { exportServerConfig } from './transfer-config.ts';
import { toNamedOwner, SELECTIONS, toNames } from './named-references.ts';

/** All stored records of every noun, read in one transaction. */
export type StoredRecords = ReadonlyMap<EntityService, readonly StoredEntity[]>;

export async function readRecords({ app }: Context): Promise<StoredRecords> {
  return app.store.read(async (tx) => {
    const records = new Map<EntityService, readonly StoredEntity[]>();
    for (const kind of IN_WRITE_ORDER) {
      records.set(kind, await tx.select().from(entityTable(app.store, kind.entity_type)));
    }
    return records;
  });
}

export async function exportAll(context: Context<WithSources & WithProviders & WithSnapshots>): Promise<Export> {
  const records = await readRecords(context);
  const names = new Map([...records.values()].flat().map(({ id, name }) => [id, name]));
  const turn = createSlices();
  const content: Record<string, unknown> = {
    exported_at: context.app.clock().toISOString(),
    format: FORMAT,
    server_config: sortKeys(await exportServerConfig(context)),
  };
  for (const kind of IN_WRITE_ORDER) {
    const items: unknown[] = [];
    for (const row of (records.get(kind) ?? []).toSorted((a, b) => compare(a.name, b.name))) {
      items.push(sortKeys(toItem(row, names)));
      await turn();
    }
    content[kind.plural] = items;
  }
  return Object.fromEntries(Object.entries(content).toSorted(([a], [b]) => compare(a, b))) as Export;
}

const sortKeys = (value: unknown): unknown => JSON.parse(canonical(value));

/** A record in the form of an export: without ids and secrets, but with references of secrets. The connection is its name. */
export function toItem(row: StoredEntity, names: ReadonlyMap<string, string>): EntityValues {
  const { connection_id, password, ssl_key, ssh, extra_params, owner_id: _owner_id, owner, ...rest } = toDraft(row);
  const selections = SELECTIONS.filter((part) => rest[part] !== undefined);
  return {
    ...rest,
    ...(isReference(password) && { password }),
    ...(isReference(ssl_key) && { ssl_key }),
    ...(ssh !== undefined && { ssh: ssh && exportSsh(ssh as SealedSsh) }),
    ...(owner === undefined ? {} : { owner: toNamedOwner(owner as TestOwner, names) }),
    ...Object.fromEntries(selections.map((part) => [part, toNames(rest[part] as Selection, names)])),
    ...(connection_id === undefined ? {} : { connection: typeof connection_id === 'string' ? names.get(connection_id) : null }),
    ...(extra_params === undefined ? {} : { extra_params: withoutSecrets(extra_params as EntityValues) }),
  };
}

const withoutSecrets = (extra_params: EntityValues): EntityValues =>
  Object.fromEntries(
    Object.entries(extra_params).map(([key, value]) => [key, isSealed(value) || isSecretEntry(key) ? null : value]),
  );

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
