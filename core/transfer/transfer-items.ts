import * as v from 'valibot';
import type { EntityKind } from '#core/contract/entities.ts';
import { type Import, type ImportFault, MOST_FAULTS } from '#core/contract/transfer.ts';
import { textBetween } from '#core/contract/fields.ts';
import { AppError } from '#core/errors.ts';
import { toInvalid } from '#core/process/issues.ts';
import { readValue } from '#core/process/read-value.ts';
import { createSlices } from '#core/lib/slices.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import type { Ssh } from '#core/contract/definitions/connection-fields.ts';
import { plainSshSecrets, withoutUnsent } from '#core/definitions/ssh-draft.ts';
import { isSecretEntry } from '#core/definitions/connection-draft.ts';
import { IN_WRITE_ORDER, type EntityService } from '#core/definitions/entity-services.ts';
import type { StoredEntity, EntityValues } from '#core/store/entity-table.ts';
import { isReference, isSealed } from '#core/lib/sealed-values.ts';
import type { Deletion } from '#core/definitions/removal.ts';
import type { Deletions } from './transfer-deletes.ts';
import { type StoredRecords, toItem } from './transfer-export.ts';
import { NamedSelection, SELECTIONS, NamedOwner } from './named-references.ts';

/** A record of an import to write. */
export interface Item {
  readonly kind: EntityService;
  readonly index: number;
  readonly name: string;
  readonly id: string;
  /** The draft without `connection_id`. The selections of a toolset contain names. */
  readonly draft: EntityValues;
  /** The name of its connection; undefined for a connection. */
  readonly connection: string | null | undefined;
  /** The stored record with this name. */
  readonly stored: StoredEntity | null;
}

export interface Sorted {
  readonly writes: readonly Item[];
  readonly skipped: readonly EntityService[];
  readonly faults: readonly ImportFault[];
  /** Names of all connections of the import, including faulty ones. */
  readonly connections: ReadonlySet<string>;
}

/**
 * Reads the records of an import, until there are too many faults, and sorts them into those to write and those to skip.
 * @param deleted what the import deletes. @param newId creates the id of a new record.
 */
export async function sortItems(
  input: Import,
  records: StoredRecords,
  { others: deleted }: Pick<Deletions, 'others'>,
  newId: (kind: EntityKind, values: EntityValues) => string,
): Promise<Sorted> {
  const turn = createSlices();
  const faults: ImportFault[] = [];
  const writes: Item[] = [];
  const skipped: EntityService[] = [];
  const deleted_by_key = new Map(
    deleted.flatMap((item) => [item.id, nameKey(item.kind.entity_type, item.name)].map((key) => [key, item])),
  );
  const connection_names = new Map([...records.values()].flat().map(({ id, name }) => [id, name]));
  for (const kind of IN_WRITE_ORDER) {
    const existing = new Map((records.get(kind) ?? []).map((row) => [row.name, row]));
    const schema = schemaOf(kind);
    const seen = new Set<string>();
    for (const [index, sent] of input[kind.plural].entries()) {
      if (faults.length >= MOST_FAULTS) break;
      await turn();
      const read = readItem(kind, schema, sent, index);
      if ('faults' in read) {
        faults.push(...read.faults);
        continue;
      }
      const { name, connection, ...draft } = read.values as EntityValues & { name: string; connection?: string | null };
      if (seen.has(name)) faults.push({ ...recordOf(kind, index, name), field: 'name', message: 'This name appears twice.' });
      seen.add(name);
      const stored = existing.get(name) ?? null;
      const skips =
        stored !== null && (input.mode === 'merge' || isEqual(read.values, sent as EntityValues, stored, connection_names));
      const message = kind.entity_type === 'test' ? ownerFault(draft, skips ? stored : null, deleted_by_key) : null;
      if (message !== null) {
        faults.push({ ...recordOf(kind, index, name), field: 'owner.name', message });
        continue;
      }
      if (skips) {
        skipped.push(kind);
        continue;
      }
      const values = kind.entity_type === 'connection' ? withStoredSecrets(draft, sent as EntityValues, stored) : draft;
      writes.push({
        kind,
        index,
        name,
        id: stored?.id ?? newId(kind.entity_type, { name }),
        draft: { ...values, name },
        connection,
        stored,
      });
    }
  }
  const connections = new Set(input.connections.flatMap((sent) => nameOf(sent) ?? []));
  return { writes, skipped, faults, connections };
}

const nameKey = (kind: EntityKind, name: string): string => `${kind}:${name}`;

/**
 * Why a test can neither be written nor stay: its definition is deleted. @param skipped the stored test, if the import does not
 * change it.
 * @param deleted by id and by name.
 */
function ownerFault(draft: EntityValues, skipped: StoredEntity | null, deleted: ReadonlyMap<string, Deletion>): string | null {
  const { kind, name } = draft['owner'] as v.InferOutput<typeof NamedOwner>;
  if (deleted.has(nameKey(kind, name)))
    return `owner.name names the ${kind} ${name}, which this import deletes. Name another one or delete the test too.`;
  const owner = deleted.get(String(skipped?.['owner_id']));
  if (owner === undefined) return null;
  const which = `the ${owner.kind.entity_type} ${owner.name}`;
  return `This test belongs to ${which}, which this import deletes, and the mode merge leaves it there. Use the mode overwrite or delete the test too.`;
}

/** The schema of a record in an export: a draft with names instead of ids. */
export function schemaOf({ entity_type, schema }: EntityService) {
  const { connection_id, ...others } = schema.entries;
  const selections = Object.fromEntries(SELECTIONS.map((part) => [part, NamedSelection]));
  const named = entity_type === 'toolset' ? selections : entity_type === 'test' ? { owner: NamedOwner } : {};
  const entries = { ...others, ...named };
  if (connection_id === undefined) return v.strictObject(entries);
  const Connection = textBetween(1, 255);
  const connection = connection_id.type === 'optional' ? v.optional(v.nullable(Connection), null) : Connection;
  return v.strictObject({ ...entries, connection });
}

function readItem(
  kind: EntityService,
  schema: ReturnType<typeof schemaOf>,
  sent: unknown,
  index: number,
): { readonly values: EntityValues } | { readonly faults: ImportFault[] } {
  const result = readValue(schema, sent);
  if (result.success) return { values: result.output };
  const { errors } = toInvalid(result.issues, Object.keys(schema.entries));
  const record = recordOf(kind, index, nameOf(sent));
  return { faults: errors.map(({ field, message }) => ({ ...record, field: field === '' ? null : field, message })) };
}

/** The name in an unchecked record. */
function nameOf(sent: unknown): string | null {
  const name = typeof sent === 'object' && sent !== null ? (sent as { name?: unknown }).name : null;
  return typeof name === 'string' ? name.slice(0, 255) : null;
}

const recordOf = (kind: EntityService, index: number | null, name: string | null) => ({
  entity_type: kind.entity_type,
  index,
  name,
});

const SECRETS = ['password', 'ssl_key'];

/** Whether the stored record is equal to that of the import. A record with a secret that is not a reference is always written. */
function isEqual(values: EntityValues, sent: EntityValues, stored: StoredEntity, names: ReadonlyMap<string, string>): boolean {
  const sent_secrets = SECRETS.filter((name) => Object.hasOwn(sent, name));
  if (sent_secrets.some((name) => !isReference(sent[name]))) return false;
  const ssh = (values['ssh'] ?? null) as Ssh | null;
  if (ssh !== null && plainSshSecrets(ssh).length > 0) return false;
  const { password: _, ssl_key: _ssl_key, ...rest } = values;
  const { password: _stored, ssl_key: _stored_key, ...item } = toItem(stored, names);
  const same = ssh === null ? item : { ...item, ssh: withoutUnsent(ssh, (item['ssh'] ?? null) as Ssh | null) };
  return canonical(rest) === canonical(same) && sent_secrets.every((name) => canonical(sent[name]) === canonical(stored[name]));
}

/** Adds the stored secrets that the import does not contain to an overwritten connection. */
function withStoredSecrets(draft: EntityValues, sent: EntityValues, stored: StoredEntity | null): EntityValues {
  if (stored === null) return draft;
  const sealed = Object.entries(stored['extra_params'] as EntityValues).filter(([, value]) => isSealed(value));
  const stored_entries = Object.hasOwn(sent, 'extra_params')
    ? sealed.filter(([key]) => isSecretEntry(key) && (draft['extra_params'] as EntityValues)[key] === null)
    : sealed;
  return {
    ...draft,
    extra_params: { ...(draft['extra_params'] as EntityValues), ...Object.fromEntries(stored_entries) },
    password: Object.hasOwn(sent, 'password') ? draft['password'] : stored['password'],
    ssl_key: Object.hasOwn(sent, 'ssl_key') ? draft['ssl_key'] : stored['ssl_key'],
  };
}

/** The error of a check as faults of one record. */
export function toFaults(
  error: unknown,
  { kind, index, name }: Pick<Item, 'kind' | 'name'> & { readonly index: number | null },
): ImportFault[] {
  if (!(error instanceof AppError)) throw error;
  const record = recordOf(kind, index, name);
  if (error.errors.length === 0) return [{ ...record, field: null, message: error.detail }];
  return error.errors.map(({ field, message }) => ({
    ...record,
    field: field.replace(/^connection_id$/, 'connection'),
    message,
  }));
}
