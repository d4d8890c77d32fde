import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithProviders } from '#core/identity/providers/metadata.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import type { ImportFault, Import } from '#core/contract/transfer.ts';
import type { Deletion } from '#core/definitions/removal.ts';
import { byPlural, ENTITY_KINDS } from '#core/contract/entities.ts';
import { canonical, checksum } from '#snapshots/format/canonical.ts';
import { AppError } from '#core/errors.ts';
import type { Context } from '#core/context/context.ts';
import { exportAll, type StoredRecords } from './transfer-export.ts';
import { IN_WRITE_ORDER } from '#core/definitions/entity-services.ts';

/** Connections are deleted last, after their definitions have moved to others. */
export interface Deletions {
  readonly others: readonly Deletion[];
  readonly connections: readonly Deletion[];
  readonly faults: readonly ImportFault[];
}

/** An import that deletes nothing. */
export const NOTHING_DELETED: Import['deletes'] = byPlural(ENTITY_KINDS, () => []);

/** SHA-256 of a configuration in the form of an export. */
export const configurationChecksum = ({ exported_at: _, ...content }: Readonly<Record<string, unknown>>): string =>
  checksum(canonical(content));

/** Throws when an import is based on a configuration other than the stored one. */
export async function checkUnchanged(
  context: Context<WithSources & WithProviders & WithSnapshots>,
  { if_checksum }: Import,
): Promise<void> {
  if (if_checksum === undefined || configurationChecksum(await exportAll(context)) === if_checksum) return;
  throw new AppError('conflict', 'The configuration has changed since it was read. Read it again and repeat your change.', {
    reason: 'conflict',
  });
}

/** The stored records to delete. Throws when a name is unknown, or when the import also writes the record. */
export function toDeletions(input: Import, records: StoredRecords): Deletions {
  const faults: ImportFault[] = [];
  // Toolsets before the records they refer to, and definitions before their connection.
  const found = IN_WRITE_ORDER.toReversed().flatMap((kind) => {
    const stored = new Map((records.get(kind) ?? []).map((row) => [row.name, row]));
    const written = new Set(input[kind.plural].map((item) => (item as { readonly name?: unknown } | null)?.name));
    return [...new Set(input.deletes[kind.plural])].flatMap((name): Deletion[] => {
      const row = stored.get(name);
      if (row !== undefined && !written.has(name)) return [{ kind, index: null, id: row.id, name, stored: row }];
      const message =
        row === undefined
          ? `There is no ${kind.entity_type} ${name} to delete.`
          : `The ${kind.entity_type} ${name} cannot be written and deleted at once.`;
      faults.push({ entity_type: kind.entity_type, index: null, name, field: 'name', message });
      return [];
    });
  });
  const isConnection = ({ kind }: Deletion) => kind.entity_type === 'connection';
  return { others: found.filter((item) => !isConnection(item)), connections: found.filter(isConnection), faults };
}

/** The remaining records, because nothing can refer to deleted ones. */
export const withoutDeleted = (records: StoredRecords, { others, connections }: Deletions): StoredRecords => {
  const gone = new Set([...others, ...connections].map(({ id }) => id));
  return new Map([...records].map(([kind, rows]) => [kind, rows.filter(({ id }) => !gone.has(id))] as const));
};
