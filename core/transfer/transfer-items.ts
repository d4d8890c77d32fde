import * as v from 'valibot';
import type { EntityKind } from '#core/contract/entities.ts';
import { type Import, type ImportFault, MOST_FAULTS } from '#core/contract/transfer.ts';
import { textBetween } from '#core/contract/fields.ts';
import { AppError } from '#core/errors.ts';
import { toInvalid } from '#core/process/issues.ts';
import { readValue } from '#core/process/read-value.ts';
import { createSlices } from '#core/lib/slices.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { isSecretEntry } from '#core/definitions/connection-draft.ts';
import { IN_WRITE_ORDER, type EntityService } from '#core/definitions/entity-services.ts';
import type { StoredEntity, EntityValues } from '#core/store/entity-table.ts';
import { isSealed } from '#core/lib/sealed-values.ts';
import type { Deletion } from '#core/definitions/removal.ts';
import type { Deletions } from './transfer-deletes.ts';
import { type StoredRecords, toItem } from './transfer-export.ts';
import { NamedSelection, SELECTIONS, NamedOwner } from './named-references.ts';

/** One record of an import that is to be written. */
export interface Item {
  readonly kind: EntityService;
  readonly index: number;
  readonly name: string;
  readonly id: string;
  /** As a draft, but for `connection_id`, and the selections of a toolset, which hold names. */
  readonly draft: EntityValues;
  /** The name of its connection; undefined for a connection. */
  readonly connection: string | null | undefined;
  /** What has this name now. */
  readonly stored: StoredEntity | null;
}

export interface Sorted {
  readonly writes: readonly Item[];
  readonly skipped: readonly EntityService[];
  readonly faults: readonly ImportFault[];
  /** Names of all connections of the import, the faulty ones too. */
  readonly connections: ReadonlySet<string>;
}

/** Reads every record by itself until too many are at fault, and says which are to be written. @param deleted what the import deletes. @param newId gives the id of a new record. */
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
  const gone = new Map(deleted.flatMap((item) => [item.id, nameKey(item.kind.entity_type, item.name)].map((key) => [key, item])));
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
      if (seen.has(name)) faults.push({ ...placeOf(kind, index, name), field: 'name', message: 'This name appears twice.' });
      seen.add(name);
      const stored = existing.get(name) ?? null;
      const skips =
        stored !== null && (input.mode === 'merge' || isEqual(read.values, sent as EntityValues, stored, connection_names));
      const message = kind.entity_type === 'test' ? ownerFault(draft, skips ? stored : null, gone) : null;
      if (message !== null) {
        faults.push({ ...placeOf(kind, index, name), field: 'owner.name', message });
        continue;
      }
      if (skips) {
        skipped.push(kind);
        continue;
      }
      const kept = kind.entity_type === 'connection' ? withKeptSecrets(draft, sent as EntityValues, stored) : draft;
      writes.push({
        kind,
        index,
        name,
        id: stored?.id ?? newId(kind.entity_type, { name }),
        draft: { ...kept, name },
        connection,
        stored,
      });
    }
  }
  const connections = new Set(input.connections.flatMap((sent) => nameOf(sent) ?? []));
  return { writes, skipped, faults, connections };
}

const nameKey = (kind: EntityKind, name: string): string => `${kind}:${name}`;

/** Why a test cannot stay or come: it goes with its definition. @param kept what is stored where the import leaves it as it is. @param gone what is deleted, by id and by name. */
function ownerFault(draft: EntityValues, kept: StoredEntity | null, gone: ReadonlyMap<string, Deletion>): string | null {
  const { kind, name } = draft['owner'] as v.InferOutput<typeof NamedOwner>;
  if (gone.has(nameKey(kind, name)))
    return `owner.name names the ${kind} ${name}, which this import deletes. Name another one or delete the test too.`;
  const owner = gone.get(String(kept?.['owner_id']));
  if (owner === undefined) return null;
  const which = `the ${owner.kind.entity_type} ${owner.name}`;
  return `This test belongs to ${which}, which this import deletes, and the mode merge leaves it there. Use the mode overwrite or delete the test too.`;
}

/** A draft of the noun with names in the place of ids. */
export function schemaOf({ entity_type, schema }: EntityService) {
  const { connection_id, ...own } = schema.entries;
  const selections = Object.fromEntries(SELECTIONS.map((part) => [part, NamedSelection]));
  const named = entity_type === 'toolset' ? selections : entity_type === 'test' ? { owner: NamedOwner } : {};
  const entries = { ...own, ...named };
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
  const place = placeOf(kind, index, nameOf(sent));
  return { faults: errors.map(({ field, message }) => ({ ...place, field: field === '' ? null : field, message })) };
}

/** Says of what somebody sent what its name is. */
function nameOf(sent: unknown): string | null {
  const name = typeof sent === 'object' && sent !== null ? (sent as { name?: unknown }).name : null;
  return typeof name === 'string' ? name.slice(0, 255) : null;
}

const placeOf = (kind: EntityService, index: number | null, name: string | null) => ({
  entity_type: kind.entity_type,
  index,
  name,
});

/** Whether the record stands there already as the import has it; a secret that was sent is always written. */
function isEqual(values: EntityValues, sent: EntityValues, stored: StoredEntity, names: ReadonlyMap<string, string>): boolean {
  if (Object.hasOwn(sent, 'password') || Object.hasOwn(sent, 'ssl_key')) return false;
  const { password: _, ssl_key: _ssl_key, ...rest } = values;
  return canonical(rest) === canonical(toItem(stored, names));
}

/** An overwritten connection keeps the secrets that the import does not hold. */
function withKeptSecrets(draft: EntityValues, sent: EntityValues, stored: StoredEntity | null): EntityValues {
  if (stored === null) return draft;
  const sealed = Object.entries(stored['extra_params'] as EntityValues).filter(([, value]) => isSealed(value));
  const kept = Object.hasOwn(sent, 'extra_params')
    ? sealed.filter(([key]) => isSecretEntry(key) && (draft['extra_params'] as EntityValues)[key] === null)
    : sealed;
  return {
    ...draft,
    extra_params: { ...(draft['extra_params'] as EntityValues), ...Object.fromEntries(kept) },
    password: Object.hasOwn(sent, 'password') ? draft['password'] : stored['password'],
    ssl_key: Object.hasOwn(sent, 'ssl_key') ? draft['ssl_key'] : stored['ssl_key'],
  };
}

/** What a check says of one record, as the report has it. */
export function toFaults(
  error: unknown,
  { kind, index, name }: Pick<Item, 'kind' | 'name'> & { readonly index: number | null },
): ImportFault[] {
  if (!(error instanceof AppError)) throw error;
  const place = placeOf(kind, index, name);
  if (error.errors.length === 0) return [{ ...place, field: null, message: error.detail }];
  return error.errors.map(({ field, message }) => ({ ...place, field: field.replace(/^connection_id$/, 'connection'), message }));
}
