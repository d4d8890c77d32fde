import { byPlural, type EntityKind, ENTITY_KINDS } from '#core/contract/entities.ts';
import type { RawInput } from '#core/contract/index.ts';
import { FORMAT } from '#core/contract/transfer.ts';
import type { EntityValues } from '#core/store/entity-table.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import type { FileFault } from './folder.ts';
import { SETTINGS_FILE } from './layout.ts';
import type { Local, LocalRecord } from './local.ts';
import { type Configuration, type FileRecord, hashOfRecord, hashOfValues, isSameRecord, settingId } from './records.ts';
import type { Known } from './state.ts';

export type PlannedChange =
  | { readonly action: 'create'; readonly record: LocalRecord }
  | { readonly action: 'update'; readonly record: LocalRecord; readonly before: EntityValues }
  | { readonly action: 'delete'; readonly record: FileRecord };

/** The changes of a push. */
export interface Plan {
  readonly changes: readonly PlannedChange[];
  /** Settings whose values differ in the file. */
  readonly settings: EntityValues;
  readonly settings_before: EntityValues;
  /** Records that only the server has. A push does not delete them. */
  readonly left: readonly FileRecord[];
  /** Records that were changed on the server since the last pull or push, and tests of definitions that the push deletes. */
  readonly conflicts: readonly FileFault[];
  readonly unchanged: number;
}

export const isEmptyPlan = ({ changes, settings }: Plan): boolean => changes.length === 0 && Object.keys(settings).length === 0;

export function planOf(local: Local, server: Configuration, known: Known | null, prune: boolean): Plan {
  const changes = [...local.records.values()].flatMap((record): PlannedChange[] => {
    const now = server.records.get(record.id);
    if (now === undefined) return [{ action: 'create', record }];
    return isSameRecord(record, now.values) ? [] : [{ action: 'update', record, before: now.values }];
  });
  const missing = [...server.records.values()].filter(({ id }) => !local.records.has(id));
  const pruned = prune ? missing.filter(({ room }) => room.kind !== 'connection' || hasConnections(local)) : [];
  const deleted = pruned.map((record): PlannedChange => ({ action: 'delete', record }));
  const differing = Object.entries(local.settings).filter(
    ([name, value]) => canonical(server.settings[name]) !== canonical(value),
  );
  const planned = [...changes, ...deleted];
  const conflicts = known === null ? [] : [...conflictsOf(planned, known), ...settingConflicts(differing, server, known)];
  return {
    changes: planned,
    settings: Object.fromEntries(differing),
    settings_before: server.settings,
    left: missing.filter((record) => !pruned.includes(record)),
    conflicts: [...conflicts, ...orphans(local, deleted)],
    unchanged: local.records.size - changes.length,
  };
}

/**
 * The configuration after a push. Concurrent changes of others are left out, so that the next push treats them as changes of the
 * server.
 */
export function configurationAfterPush({ changes, settings }: Plan, before: Configuration, after: Configuration): Configuration {
  const records = new Map(before.records);
  for (const { action, record } of changes) {
    const now = after.records.get(record.id);
    if (action === 'delete') records.delete(record.id);
    // As the server returns it, with the fields that the file omits.
    else records.set(record.id, now !== undefined && isSameRecord(record, now.values) ? now : record);
  }
  return { ...before, records, settings: { ...before.settings, ...settings } };
}

function conflictsOf(changes: readonly PlannedChange[], { base, is_fresh, hasSeen }: Known): FileFault[] {
  return changes.flatMap((change): FileFault[] => {
    const { record } = change;
    const before = base.get(record.id);
    const what = `The ${record.room.kind} ${record.name}`;
    const path = 'path' in record ? record.path : `${record.room.folder}/`;
    const edited = change.action !== 'delete' && before !== undefined && before !== hashOfRecord(change.record);
    const advice = is_fresh ? FRESH : `${SINCE} ${edited ? MERGE : PULL}`;
    const conflict = (change: string): FileFault[] => [{ path, line: null, message: `${what} was ${change} ${advice}` }];
    if (change.action === 'create') return before === undefined ? [] : conflict('deleted');
    const now = hashOfRecord(change.action === 'update' ? { room: record.room, values: change.before } : record);
    if (hasSeen(record.id, now)) return [];
    if (before !== undefined) return conflict('changed');
    // A fresh checkout cannot tell whether its file is older than a record that was never pushed. It does not delete one.
    return is_fresh && change.action === 'update' ? [] : conflict('created');
  });
}

/** Whether the folder manages connections. If not, connections differ per environment, and deleting one loses its secrets. */
const hasConnections = ({ records }: Local): boolean => [...records.values()].some(({ room }) => room.kind === 'connection');

/**
 * Files of tests without the file of their definition, and of definitions without that of their connection. The push would
 * delete what they need.
 */
function orphans(local: Local, deleted: readonly PlannedChange[]): FileFault[] {
  const gone = new Set(deleted.map(({ record }) => record.id));
  return [...local.records.values()].flatMap(({ room, values, positionOf }): FileFault[] => {
    const needed = neededBy(room.kind, values);
    if (needed === null || !gone.has(`${needed.kind}:${needed.name}`)) return [];
    const { field, kind, name } = needed;
    const message = `${field} names the ${kind} ${name}, which has no file and is deleted by --prune. Name another one or delete this file too.`;
    return [{ ...positionOf(field), message }];
  });
}

interface Needed {
  readonly field: string;
  readonly kind: string;
  readonly name: string;
}

/** The owner of a test, or the connection of a definition. */
function neededBy(kind: EntityKind, { owner, connection }: EntityValues): Needed | null {
  if (kind === 'test') return { field: 'owner.name', ...(owner as { readonly kind: string; readonly name: string }) };
  return typeof connection === 'string' ? { field: 'connection', kind: 'connection', name: connection } : null;
}

const SINCE = 'on the server since the last pull or push of this folder.';
const FRESH =
  'on the server since the last push, and this checkout has not pulled it. Pull, commit with .sluice and push, or replace it with --force.';
const PULL = 'Pull first, or replace it with --force.';
/** Advice, because a pull would refuse to replace the file. */
const MERGE =
  "The file has changes too: keep a copy of it, pull with --force and make them again, or replace the server's with --force.";

const settingConflicts = (
  differing: readonly (readonly [string, unknown])[],
  server: Configuration,
  { base, is_fresh, hasSeen }: Known,
): FileFault[] =>
  differing.flatMap(([name, value]) => {
    const id = settingId(name);
    const before = base.get(id);
    if (before === undefined || hasSeen(id, hashOfValues(server.settings[name]))) return [];
    const advice = is_fresh ? FRESH : `${SINCE} ${before === hashOfValues(value) ? PULL : MERGE}`;
    return [{ path: SETTINGS_FILE, line: null, message: `The setting ${name} was changed ${advice}` }];
  });

/** Hashes of the records and settings in the files, for the server to remember. */
export const pushedHashes = ({ records, settings }: Local): Record<string, string> =>
  Object.fromEntries([
    ...[...records.values()].map((record) => [record.id, hashOfRecord(record)] as const),
    ...Object.entries(settings).map(([name, value]) => [settingId(name), hashOfValues(value)] as const),
  ]);

/** The plan as one import. @param checksum of the configuration on which the plan is based. */
export function toImport(plan: Plan, local: Local, checksum: string, dry_run: boolean): RawInput<'transfer.import'> {
  const lists = byPlural(ENTITY_KINDS, (kind) => sentOf(plan, kind).map(({ sent }) => sent));
  const deletes = byPlural(ENTITY_KINDS, (kind) =>
    plan.changes.flatMap(({ action, record }) => (action === 'delete' && record.room.kind === kind ? [record.name] : [])),
  );
  const names = Object.keys(plan.settings);
  const sent = local.settings_file?.sent ?? {};
  return {
    format: FORMAT,
    mode: 'overwrite',
    dry_run,
    check: dry_run,
    if_checksum: checksum,
    ...(dry_run ? {} : { pushed: pushedHashes(local) }),
    ...lists,
    deletes,
    ...(names.length === 0
      ? {}
      : { include_server_config: true, server_config: Object.fromEntries(names.map((name) => [name, sent[name]])) }),
  };
}

const sentOf = ({ changes }: Plan, kind: FileRecord['room']['kind']): LocalRecord[] =>
  changes.flatMap((change) => (change.action !== 'delete' && change.record.room.kind === kind ? [change.record] : []));

/** The position in a file of a field of an import, such as `tools.0.sql_query`. */
export function faultAt(plan: Plan, local: Local, field: string, message: string): FileFault {
  const [plural = '', index = '', ...rest] = field.split('.');
  if (plural === 'server_config') {
    const name = [index, ...rest].filter((part) => part !== '').join('.');
    return { ...(local.settings_file?.positionOf(name) ?? { path: SETTINGS_FILE, line: null }), message };
  }
  const kind = ENTITY_KINDS.find((candidate) => sentOf(plan, candidate)[0]?.room.folder === plural);
  const record = kind === undefined ? undefined : sentOf(plan, kind)[Number(index)];
  if (record === undefined) return { path: `${plural}/`, line: null, message };
  return { ...record.positionOf(rest.join('.')), message };
}
