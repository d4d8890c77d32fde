import { byPlural, ENTITY_KINDS } from '#core/contract/entities.ts';
import type { RawInput } from '#core/contract/index.ts';
import { FORMAT } from '#core/contract/transfer.ts';
import type { EntityValues } from '#core/store/entity-table.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import type { FileFault } from './folder.ts';
import { SETTINGS_FILE } from './layout.ts';
import type { Local, LocalRecord } from './local.ts';
import { type Configuration, type FileRecord, hashOfRecord, hashOfValues, isSameRecord, settingId } from './records.ts';
import type { Base } from './state.ts';

export type PlannedChange =
  | { readonly action: 'create'; readonly record: LocalRecord }
  | { readonly action: 'update'; readonly record: LocalRecord; readonly before: EntityValues }
  | { readonly action: 'delete'; readonly record: FileRecord };

/** What a push would change. */
export interface Plan {
  readonly changes: readonly PlannedChange[];
  /** Settings that the file gives another value. */
  readonly settings: EntityValues;
  readonly settings_before: EntityValues;
  /** What the server has and the folder has not, and stays. */
  readonly left: readonly FileRecord[];
  /** Records that were changed on the server since the folder last met it, and tests of what the push deletes. */
  readonly conflicts: readonly FileFault[];
  readonly unchanged: number;
}

export const isEmptyPlan = ({ changes, settings }: Plan): boolean => changes.length === 0 && Object.keys(settings).length === 0;

export function planOf(local: Local, server: Configuration, base: Base | null, prune: boolean): Plan {
  const changes = [...local.records.values()].flatMap((record): PlannedChange[] => {
    const now = server.records.get(record.id);
    if (now === undefined) return [{ action: 'create', record }];
    return isSameRecord(record, now.values) ? [] : [{ action: 'update', record, before: now.values }];
  });
  const missing = [...server.records.values()].filter(({ id }) => !local.records.has(id));
  const deleted = missing.map((record): PlannedChange => ({ action: 'delete', record }));
  const differing = Object.entries(local.settings).filter(
    ([name, value]) => canonical(server.settings[name]) !== canonical(value),
  );
  const planned = prune ? [...changes, ...deleted] : changes;
  const conflicts = base === null ? [] : [...conflictsOf(planned, base), ...settingConflicts(differing, server, base)];
  return {
    changes: planned,
    settings: Object.fromEntries(differing),
    settings_before: server.settings,
    left: prune ? [] : missing,
    conflicts: prune ? [...conflicts, ...orphans(local, deleted)] : conflicts,
    unchanged: local.records.size - changes.length,
  };
}

/** What a push left on the server. What others changed in the meantime is none of it, and meets the next push as theirs. */
export function leftBy({ changes, settings }: Plan, before: Configuration, after: Configuration): Configuration {
  const records = new Map(before.records);
  for (const { action, record } of changes) {
    const now = after.records.get(record.id);
    if (action === 'delete') records.delete(record.id);
    // As the server writes it, with what was not given.
    else records.set(record.id, now !== undefined && isSameRecord(record, now.values) ? now : record);
  }
  return { ...before, records, settings: { ...before.settings, ...settings } };
}

function conflictsOf(changes: readonly PlannedChange[], base: Base): FileFault[] {
  return changes.flatMap((change): FileFault[] => {
    const { record } = change;
    const before = base.get(record.id);
    const what = `The ${record.room.kind} ${record.name}`;
    const path = 'path' in record ? record.path : `${record.room.folder}/`;
    const edited = change.action !== 'delete' && before !== undefined && before !== hashOfRecord(change.record);
    const todo = edited ? MERGE : PULL;
    const conflict = (said: string): FileFault[] => [{ path, line: null, message: `${what} was ${said} ${SINCE} ${todo}` }];
    if (change.action === 'create') return before === undefined ? [] : conflict('deleted');
    const now = hashOfRecord(change.action === 'update' ? { room: record.room, values: change.before } : record);
    if (before === now) return [];
    return conflict(before === undefined ? 'created' : 'changed');
  });
}

/** Files of tests whose definition has none: it would be deleted, and the test with it. */
function orphans(local: Local, deleted: readonly PlannedChange[]): FileFault[] {
  const gone = new Set(deleted.map(({ record }) => record.id));
  return [...local.records.values()].flatMap(({ room, values, path, lineOf }): FileFault[] => {
    if (room.kind !== 'test') return [];
    const { kind, name } = values['owner'] as { readonly kind: string; readonly name: string };
    if (!gone.has(`${kind}:${name}`)) return [];
    const message = `owner.name names the ${kind} ${name}, which has no file and is deleted by --prune. Name another one or delete this file too.`;
    return [{ path, line: lineOf('owner.name'), message }];
  });
}

const SINCE = 'on the server since the last pull or push of this folder.';
const PULL = 'Pull first, or replace it with --force.';
/** A pull would refuse to replace the file. */
const MERGE =
  "The file has changes too: keep a copy of it, pull with --force and make them again, or replace the server's with --force.";

const settingConflicts = (differing: readonly (readonly [string, unknown])[], server: Configuration, base: Base): FileFault[] =>
  differing.flatMap(([name, value]) => {
    const before = base.get(settingId(name));
    if (before === undefined || before === hashOfValues(server.settings[name])) return [];
    return [
      {
        path: SETTINGS_FILE,
        line: null,
        message: `The setting ${name} was changed ${SINCE} ${before === hashOfValues(value) ? PULL : MERGE}`,
      },
    ];
  });

/** The plan as one import. @param checksum of the configuration that it was made from. */
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
    ...lists,
    deletes,
    ...(names.length === 0
      ? {}
      : { include_server_config: true, server_config: Object.fromEntries(names.map((name) => [name, sent[name]])) }),
  };
}

const sentOf = ({ changes }: Plan, kind: FileRecord['room']['kind']): LocalRecord[] =>
  changes.flatMap((change) => (change.action !== 'delete' && change.record.room.kind === kind ? [change.record] : []));

/** Where a fault of an import such as `tools.0.sql_query` stands. */
export function faultAt(plan: Plan, local: Local, field: string, message: string): FileFault {
  const [plural = '', index = '', ...rest] = field.split('.');
  if (plural === 'server_config') {
    const name = [index, ...rest].filter((part) => part !== '').join('.');
    return { path: SETTINGS_FILE, line: local.settings_file?.lineOf(name) ?? null, message };
  }
  const kind = ENTITY_KINDS.find((candidate) => sentOf(plan, candidate)[0]?.room.folder === plural);
  const record = kind === undefined ? undefined : sentOf(plan, kind)[Number(index)];
  if (record === undefined) return { path: `${plural}/`, line: null, message };
  return { path: record.path, line: record.lineOf(rest.join('.')), message };
}
