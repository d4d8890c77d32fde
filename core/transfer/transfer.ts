import type { WithLint } from '#core/definitions/lint/lint-index.ts';
import type { WithProviders } from '#core/identity/providers/metadata.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithVersions } from '#core/versions/versions.ts';
import { engineOf } from '#core/engines/index.ts';
import { byPlural, ENTITY_KINDS, subjectOf } from '#core/contract/entities.ts';
import { type Import, type ImportCounts, type ImportFault, type ImportReport, MOST_FAULTS } from '#core/contract/transfer.ts';
import { AppError, type ErrorCode } from '#core/errors.ts';
import { type Handlers, newId } from '#core/context/context.ts';
import { collectAfter } from '#core/platform/collect-garbage.ts';
import { asBatch, type BatchContext } from '#core/records/batch.ts';
import { fewAtATime } from '#core/lib/slices.ts';
import { recordBlocked } from '#core/records/blocked.ts';
import { isSecretEntry } from '#core/definitions/connection-draft.ts';
import { ENTITY_SERVICES, IN_WRITE_ORDER, type EntityService } from '#core/definitions/entity-services.ts';
import type { EntityValues } from '#core/store/entity-table.ts';
import type { ConnectionRow } from '#core/sources/source-pool.ts';
import { missingSshSecrets } from '#core/definitions/ssh-draft.ts';
import { isSealed } from '#core/lib/sealed-values.ts';
import { ROWS_PER_STATEMENT } from '#core/records/versioned.ts';
import { configFaults, readServerConfig, refuseImportedSettings } from './transfer-config.ts';
import { exportAll, readRecords, type StoredRecords } from './transfer-export.ts';
import { checkUnchanged, type Deletions, toDeletions, withoutDeleted } from './transfer-deletes.ts';
import { type Item, sortItems, toFaults } from './transfer-items.ts';
import { readPushed } from './pushed.ts';
import { checkPlanned } from './transfer-checks.ts';
import { toOwnerId, type IdsByName, toIds } from './named-references.ts';
import { type CheckedItem, type Noting, type ImportResult, writeItems } from './transfer-write.ts';

/** Faults in the sentence of a refusal. `errors` has all of them. */
const MAX_FAULTS_NAMED = 10;

export const transferHandlers: Pick<Handlers<TransferApp>, Extract<keyof Handlers<TransferApp>, `transfer.${string}`>> = {
  'transfer.export': exportAll,
  'transfer.pushed': async (context) => ({ records: await readPushed(context) }),
  'transfer.import': (context, input) => asBatch(context, 'import', (batch) => importAll(batch, input)),
};

/** The app of imports and exports. */
type TransferApp = WithSources & WithLint & WithProviders & WithVersions;

/** The record of a fault. */
type Named = Parameters<typeof toFaults>[1] & Pick<Item, 'stored'>;

/** Collects what the report will contain. */
interface Progress {
  /** Null while nothing was written, not even in a dry run. */
  outcome: ImportResult | null;
  readonly faults: ImportFault[];
  /** Codes of the faults. When all are equal, the refusal has this code. */
  readonly codes: Set<ErrorCode>;
  readonly refusals: { readonly item: Named | null; readonly error: AppError }[];
}

async function importAll(context: BatchContext<TransferApp>, input: Import): Promise<ImportReport> {
  const settings = input.include_server_config ? (input.server_config ?? null) : null;
  if (settings !== null) refuseImportedSettings(context.actor, settings);
  await checkUnchanged(context, input);
  const records = await readRecords(context);
  const deletions = toDeletions(input, records);
  const sorted = await sortItems(input, records, deletions, (kind, values) => newId(context, kind, values));
  const progress: Progress = {
    outcome: null,
    faults: [...sorted.faults, ...deletions.faults],
    codes: new Set(),
    refusals: [],
  };
  if (progress.faults.length > 0) progress.codes.add('invalid');
  const patch = settings === null ? null : await noteRefusal(progress, null, async () => readServerConfig(settings));

  const checked = await checkItems(context, sorted.writes, withoutDeleted(records, deletions), sorted.connections, progress);
  if (progress.faults.length === 0) {
    // When a page of records is refused, writing them one by one finds the faulty one.
    const note: Noting = (item, work) => noteRefusal(progress, item, work);
    const written = { checked, deletions, patch };
    progress.outcome = await writeItems(context, input, written, note, ROWS_PER_STATEMENT).catch((error: unknown) => {
      if (!(error instanceof AppError) || error.code === 'unavailable') throw error;
      return writeItems(context, input, written, note, 1);
    });
  }
  collectAfter(checked.length);
  const report = toReport(context, input, sorted.skipped, checked, deletions, progress);
  const planned = progress.outcome?.planned ?? null;
  if (planned !== null && report.errors.length === 0) report.checks = await checkPlanned(context, planned);
  if (report.errors.length === 0 || input.dry_run) {
    if (!input.dry_run) for (const { id } of deletions.connections) context.app.sources.drop(id);
    return report;
  }
  for (const { item, error } of progress.refusals) {
    const stored = item?.stored ?? null;
    const named = { name: item?.name, ...(stored === null ? {} : { id: stored.id }) };
    await recordBlocked(context, item?.kind.entity_type ?? 'server_config', named, error);
  }
  throw refusal(report, progress.codes);
}

/** Checks connections first, because their definitions are checked against them. */
async function checkItems(
  context: BatchContext,
  writes: readonly Item[],
  records: StoredRecords,
  sent_connections: ReadonlySet<string>,
  progress: Progress,
): Promise<CheckedItem[]> {
  const stored = records.get(ENTITY_SERVICES.connection) ?? [];
  const ids = new Map(stored.map(({ id, name }) => [name, id]));
  context.batch.cache.owners = new Map(stored.map((row) => [row.id, row as ConnectionRow]));
  const note = context.batch.progress;
  note.begin('check', writes.length);
  const check = async (item: Item, draft: EntityValues): Promise<CheckedItem[]> => {
    if (progress.faults.length >= MOST_FAULTS) return [];
    const prepared = await noteRefusal(progress, item, () => item.kind.prepare(context, item.id, draft, item.stored));
    return prepared === null ? [] : [{ ...item, prepared }];
  };
  const connections = await fewAtATime(writes.filter(isConnection), ROWS_PER_STATEMENT, async (item) => {
    note.add(1);
    const checked = await check(item, item.draft);
    for (const { id, name, stored, prepared } of checked) {
      const planned = { ...stored, ...prepared.values, id, version: (stored?.version ?? 0) + 1 };
      context.batch.connections.set(id, planned as ConnectionRow);
      ids.set(name, id);
    }
    return checked;
  });
  const by_name = idsByName(records, writes);
  context.batch.cache.planned = new Set(writes.map(({ id }) => id));
  const others = writes.filter((item) => !isConnection(item));
  const owned = await fewAtATime(others, ROWS_PER_STATEMENT, async (item) => {
    // Faulty records count as well, so that the progress reaches its end.
    note.add(1);
    const { entity_type } = item.kind;
    if (entity_type === 'toolset' || entity_type === 'test') {
      const { draft, faults } = entity_type === 'test' ? toOwnerId(item.draft, by_name) : toIds(item.draft, by_name);
      if (faults.length === 0) return check(item, draft);
      fail(progress, new AppError('invalid', faults.map(({ message }) => message).join(' '), { errors: [...faults] }), item);
      return [];
    }
    if (item.connection === null || item.connection === undefined) return check(item, { ...item.draft, connection_id: null });
    const connection_id = ids.get(item.connection);
    if (connection_id !== undefined) return check(item, { ...item.draft, connection_id });
    // A faulty connection of this import is reported once, not for each of its definitions.
    if (!sent_connections.has(item.connection)) {
      const message = 'connection does not match any connection in this file or this installation.';
      fail(progress, new AppError('invalid', message, { errors: [{ field: 'connection', message }] }), item);
    }
    return [];
  });
  return [...connections.flat(), ...owned.flat()];
}

/** Ids of stored records, and of those that are about to be stored. */
const idsByName = (records: StoredRecords, writes: readonly Item[]): IdsByName =>
  new Map(
    IN_WRITE_ORDER.map((kind) => {
      const stored = (records.get(kind) ?? []).map(({ name, id }) => [name, id] as const);
      const planned = writes.flatMap((item) => (item.kind === kind ? [[item.name, item.id] as const] : []));
      return [kind.entity_type, new Map([...stored, ...planned])];
    }),
  );

const isConnection = ({ kind }: Item): boolean => kind.entity_type === 'connection';

function fail(progress: Progress, error: unknown, item: Named | null): void {
  const of_settings = { entity_type: 'server_config' as const, index: null, name: null };
  progress.faults.push(
    ...(item === null ? configFaults(error).map((fault) => ({ ...of_settings, ...fault })) : toFaults(error, item)),
  );
  if (!(error instanceof AppError)) return;
  progress.codes.add(error.code);
  progress.refusals.push({ item, error });
}

/** Runs work. Collects a refusal of an item or of the settings, and returns null. */
async function noteRefusal<T>(progress: Progress, item: Named | null, work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    // With a proof or an approval the same import works, so it is not mixed with faults of the file.
    if (error instanceof AppError && (error.code === 'proof_required' || error.code === 'approval_required')) throw error;
    fail(progress, error, item);
    return null;
  }
}

function toReport(
  { batch, proposal_run }: BatchContext,
  { dry_run, server_config }: Import,
  skipped: readonly EntityService[],
  checked: readonly CheckedItem[],
  deletions: Deletions,
  { faults, outcome }: Progress,
): ImportReport {
  const config = outcome?.config ?? null;
  const written = faults.length > 0 ? [] : checked;
  const removed = faults.length > 0 ? [] : [...deletions.others, ...deletions.connections];
  const left_alone = server_config !== undefined && faults.length === 0 && config?.changed !== true;
  const stored = !dry_run && proposal_run === undefined && (written.length > 0 || removed.length > 0 || config?.changed === true);
  return {
    dry_run,
    batch_id: stored ? batch.batch_id : null,
    created: count(written.filter(({ stored }) => stored === null).map(({ kind }) => kind)),
    updated: {
      ...count(written.filter(({ stored }) => stored !== null).map(({ kind }) => kind)),
      server_config: config?.changed === true ? 1 : 0,
    },
    deleted: count([
      ...removed.map(({ kind }) => kind),
      ...Array<EntityService>(outcome?.cascaded ?? 0).fill(ENTITY_SERVICES.test),
    ]),
    skipped: { ...count(skipped), server_config: left_alone ? 1 : 0 },
    errors: faults.toSorted((a, b) => sortKey(a) - sortKey(b)).slice(0, MOST_FAULTS),
    errors_truncated: faults.length >= MOST_FAULTS,
    warnings: [
      ...checked.flatMap(({ kind, name, prepared }) =>
        (prepared.compiled?.warnings ?? []).map((message) => ({ entity_type: kind.entity_type, name, message })),
      ),
      ...(config?.warnings ?? []).map((message) => ({ entity_type: 'server_config' as const, name: null, message })),
    ],
    needs_secrets: [
      ...checked.filter(isConnection).flatMap(missingSecrets),
      ...(config === null || config.needs_secrets.length === 0 ? [] : [{ connection: null, fields: [...config.needs_secrets] }]),
    ],
  };
}

/** Sorts faults by kind and index. An import has far fewer records than the factor. */
const sortKey = ({ entity_type, index }: ImportFault): number =>
  IN_WRITE_ORDER.findIndex((kind) => kind.entity_type === entity_type) * 1e9 + (index ?? 0);

const count = (kinds: readonly EntityService[]): ImportCounts => {
  const counts = { ...byPlural(ENTITY_KINDS, () => 0), server_config: 0 };
  for (const { plural } of kinds) counts[plural]++;
  return counts;
};

/** Secrets that a connection lacks, and probably had in the exporting installation. */
function missingSecrets({ name, prepared }: CheckedItem): ImportReport['needs_secrets'] {
  const row = prepared.values as ConnectionRow;
  const signs_in = row.host !== null && (row.username !== null || engineOf(row.db_type).token);
  const fields = [
    ...(signs_in && row.password === null ? ['password'] : []),
    ...(row.ssl_cert !== null && row.ssl_key === null ? ['ssl_key'] : []),
    ...(row.ssh === null ? [] : missingSshSecrets(row.ssh)),
    ...Object.entries(row.extra_params)
      .filter(([key, value]) => isSecretEntry(key) && !isSealed(value))
      .map(([key]) => `extra_params.${key}`),
  ];
  return fields.length === 0 ? [] : [{ connection: name, fields }];
}

function refusal({ errors: faults, errors_truncated }: ImportReport, codes: ReadonlySet<ErrorCode>): AppError {
  const sentences = faults.slice(0, MAX_FAULTS_NAMED).map(({ entity_type, name, index, message }) => {
    const which = name ?? (index === null ? '' : `number ${index + 1}`);
    return `${subjectOf(entity_type, which)}: ${message}`;
  });
  const rest = faults.length - sentences.length;
  const ended = errors_truncated ? ` Validation stopped after ${MOST_FAULTS} errors; there may be more.` : '';
  const more = rest > 0 ? ` And ${rest} more.${ended}` : '';
  const [only] = codes;
  const shared: ErrorCode | undefined = codes.size === 1 ? CODES.find((code) => code === only) : undefined;
  return new AppError(shared ?? 'invalid', `Nothing was imported. ${sentences.join(' ')}${more}`, {
    errors: faults.map(({ entity_type, index, field, message }) => {
      const kind = IN_WRITE_ORDER.find((candidate) => candidate.entity_type === entity_type);
      const path = [kind?.plural ?? entity_type, index, field].filter((step) => step !== null);
      return { field: path.join('.'), message };
    }),
    ...(codes.size === 1 && only === 'conflict' ? { reason: 'conflict' } : {}),
  });
}

/** A refusal has one of these codes when all of its faults have it. Otherwise its code is `invalid`. */
const CODES: readonly ErrorCode[] = [
  'private_network_blocked',
  'passthrough_sql_blocked',
  'prompt_injection_blocked',
  'secret_required',
  'admin_only',
];
