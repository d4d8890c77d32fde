import type { Platform } from '#core/platform/platform.ts';
import type { DeployApp } from '#core/deploy/app.ts';
import { asc, count, eq, gt, inArray, max, or } from 'drizzle-orm';
import { createHash } from 'node:crypto';
import { createMemoryKv } from '#core/cluster/memory.ts';
import { CONFIGURED, ENTITY_KINDS } from '#core/contract/entities.ts';
import type { OperationName } from '#core/contract/index.ts';
import type { TouchedRecord } from '#core/contract/proposals.ts';
import { createSnapshotCache } from '#core/versions/stored-snapshots.ts';
import { createWorkingCopyHolder } from '#core/versions/working-copy.ts';
import { type ConnectionRow, createSourcePool, type SourcePool } from '#core/sources/source-pool.ts';
import type { Recorded, RequestContext, RunOperations, ProposalRun } from '#core/context/context.ts';
import { AppError } from '#core/errors.ts';
import { entityTable } from '#core/store/entity-table.ts';
import { lastChange } from '#core/store/journal.ts';
import { createLock } from '#core/store/open.ts';
import type { Db, Store } from '#core/store/store.ts';
import { openMemoryStore } from './memory-store.ts';
import { recordingSources, type RecordedAnswers } from './recall.ts';

/** An operation of a proposal as it is replayed. */
export interface ProposedOperation {
  readonly operation: OperationName;
  readonly input: Readonly<Record<string, unknown>>;
}

/** The working copy as it would be with a proposal: a copy in memory, so that nothing waits for it and nothing of it stays. */
export interface Overlay {
  readonly app: DeployApp;
  /** Sessions to the connections of this copy. */
  readonly sources: SourcePool;
  /** What the databases said of statements. */
  readonly recalled: RecordedAnswers;
  /** How many operations it has. */
  readonly applied: number;
  /** Runs an operation that changes something; one that fails leaves nothing. */
  apply(runner: RunOperations<DeployApp>, step: ProposedOperation, call: RequestContext): Promise<Applied>;
  /** Runs one that only reads or tries. */
  look(runner: RunOperations<DeployApp>, step: ProposedOperation, call: RequestContext): Promise<unknown>;
  close(): Promise<void>;
}

export interface Applied {
  readonly output: unknown;
  readonly written: readonly Recorded[];
}

/** Whose proposal it is. */
export interface Owner {
  readonly id: string;
  readonly created_at: string;
  readonly author: { readonly name: string };
}

const COPIED = [...ENTITY_KINDS.map((kind) => kind), 'compiled'] as const;
const PAGE = 500;
/** SQLite takes 32 766 values a statement. */
const ROWS_AT_ONCE = 400;

export async function openOverlay(app: DeployApp, owner: Owner): Promise<Overlay> {
  const scratch = await openMemoryStore();
  await app.store.read((tx) => copyConfiguration(app.store, tx, scratch));
  const live = new Map((await scratch.db.select().from(scratch.tables.connections)).map((row) => [row.id, row]));
  const recalled: RecordedAnswers = new Map();
  const own = createSourcePool(app.policy, app.keyring);
  const sources = withUnchangedShared(app.sources, own, live);
  const inside: DeployApp = {
    ...app,
    store: scratch,
    // Counters of the installation are not counted up by what is only tried.
    kv: createMemoryKv(() => app.clock().getTime()),
    sources: recordingSources(sources, recalled, 'note'),
    working_copy: createWorkingCopyHolder(),
    pending: null,
    tool_tokens: new Map(),
    snapshot_cache: createSnapshotCache(),
    deploy_lock: createLock(),
    switch_lock: createLock(),
  };
  let ids = createIds(owner);
  let applied = 0;
  return {
    app: inside,
    sources,
    recalled,
    get applied() {
      return applied;
    },
    async apply(runner, { operation, input }, call) {
      await copyHistory(app.store, scratch, operation, input);
      const tried = ids.copy();
      const proposal_run = replayOf(owner, tried);
      try {
        const output = await scratch.attempt((store) =>
          runner.perform({ ...inside, store }, operation, input, { ...call, proposal_run }),
        );
        ids = tried;
        applied += 1;
        return { output, written: proposal_run.written };
      } catch (error) {
        // It may have what was undone.
        inside.working_copy.copy = null;
        throw error;
      }
    },
    async look(runner, { operation, input }, call) {
      await copyHistory(app.store, scratch, operation, input);
      return scratch.attempt((store) => runner.perform({ ...inside, store }, operation, input, call));
    },
    async close() {
      await own.close();
      await scratch.close();
    },
  };
}

export const replayOf = ({ id, author }: Owner, ids: Ids): ProposalRun => ({
  proposal_id: id,
  author: author.name,
  newId: (kind, name) => ids.next(kind, name),
  written: [],
});

export interface Ids {
  next(kind: string, name: string): string;
  copy(): Ids;
}

/** Ids of new records that follow from their names, so that they are the same in each replay (UUIDv7 of the proposal's time). */
export function createIds(owner: Pick<Owner, 'id' | 'created_at'>, given: ReadonlyMap<string, number> = new Map()): Ids {
  const seen = new Map(given);
  const time = Date.parse(owner.created_at).toString(16).padStart(12, '0');
  return {
    next(kind, name) {
      const key = `${kind} ${name}`;
      const n = seen.get(key) ?? 0;
      seen.set(key, n + 1);
      const hex = createHash('sha256').update(`${owner.id} ${n} ${key}`).digest('hex');
      const variant = ((Number.parseInt(hex.charAt(3), 16) & 3) | 8).toString(16);
      return `${time.slice(0, 8)}-${time.slice(8)}-7${hex.slice(0, 3)}-${variant}${hex.slice(4, 7)}-${hex.slice(7, 19)}`;
    },
    copy: () => createIds(owner, seen),
  };
}

/** Connections that nobody changed are asked through their own sessions. */
function withUnchangedShared(live: SourcePool, own: SourcePool, rows: ReadonlyMap<string, ConnectionRow>): SourcePool {
  const poolOf = (row: ConnectionRow) => (rows.get(row.id)?.version === row.version ? live : own);
  return {
    of: (row) => poolOf(row).of(row),
    isSuperuser: (row) => poolOf(row).isSuperuser(row),
    open: (settings) => own.open(settings),
    share: (key, settings) => own.share(key, settings),
    filesChanged: () => live.filesChanged(),
    drop: (id) => own.drop(id),
    close: () => own.close(),
  };
}

async function copyConfiguration(from: Store, tx: Db, to: Store): Promise<void> {
  const settings = await tx.select().from(from.tables.server_config);
  if (settings.length > 0) await to.db.insert(to.tables.server_config).values(settings);
  for (const kind of COPIED) {
    const [source, target] =
      kind === 'compiled'
        ? ([from.tables.compiled, to.tables.compiled] as unknown as Schema['tools'][])
        : [entityTable(from, kind), entityTable(to, kind)];
    if (source === undefined || target === undefined) continue;
    const key = kind === 'compiled' ? (source as unknown as Schema['compiled']).entity_id : source.id;
    for (let last = ''; ;) {
      const rows = await tx.select().from(source).where(gt(key, last)).orderBy(asc(key)).limit(PAGE);
      for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
        await to.db.insert(target).values(rows.slice(at, at + ROWS_AT_ONCE));
      }
      if (rows.length < PAGE) break;
      const end = rows.at(-1) as unknown as { readonly id?: string; readonly entity_id?: string };
      last = end.entity_id ?? end.id ?? '';
    }
  }
}

type Schema = Store['tables'];

/** A rollback reads the history, which is too long to be copied whole. */
async function copyHistory(from: Store, to: Store, operation: OperationName, input: ProposedOperation['input']): Promise<void> {
  const wanted = input['history_id'];
  if (operation !== 'history.rollback' || typeof wanted !== 'string') return;
  const { history } = from.tables;
  const found = await from.db
    .select()
    .from(history)
    .where(or(eq(history.id, wanted), eq(history.batch_id, wanted), eq(history.entity_name, wanted)))
    .limit(PAGE);
  const batches = [...new Set(found.flatMap(({ batch_id }) => batch_id ?? []))];
  const entities = [...new Set(found.map(({ entity_id }) => entity_id))];
  if (entities.length === 0) {
    const { history: proposed } = to.tables;
    if ((await to.db.$count(proposed, or(eq(proposed.id, wanted), eq(proposed.batch_id, wanted)))) === 0) return;
    throw new AppError(
      'conflict',
      'This change is only proposed, so it has no history entry. Propose the opposite change, or begin again with proposal_id new.',
    );
  }
  const rows = await from.db
    .select()
    .from(history)
    .where(or(inArray(history.batch_id, batches), inArray(history.entity_id, entities)))
    .limit(10_000);
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    await to.db
      .insert(to.tables.history)
      .values(rows.slice(at, at + ROWS_AT_ONCE))
      .onConflictDoNothing();
  }
}

/** What tells that the configuration is another one than it was. */
export async function stampOf({ store }: Platform): Promise<string> {
  const { tests, server_config, deployment } = store.tables;
  return store.read(async (tx) => {
    const [seq, [tested], [settings], [deployed]] = await Promise.all([
      lastChange(store, tx),
      tx.select({ total: count(), newest: max(tests.updated_at) }).from(tests),
      tx.select({ version: server_config.version }).from(server_config),
      tx.select({ version: deployment.active_version }).from(deployment),
    ]);
    return JSON.stringify([seq, tested?.total, tested?.newest, settings?.version, deployed?.version]);
  });
}

const CONFIGURED_TYPES: readonly string[] = CONFIGURED;

/** What an operation changes, each record once, as it found it first. */
export function touchedBy(written: readonly Recorded[]): TouchedRecord[] {
  const touched = new Map<string, TouchedRecord>();
  for (const { entity_type, entity_id, entity_name, action: recorded, before, after } of written) {
    if (recorded === 'blocked' || !CONFIGURED_TYPES.includes(entity_type)) continue;
    const key = `${entity_type} ${entity_id}`;
    const known = touched.get(key);
    const version = known === undefined ? versionOf(before) : known.version;
    const action = after === null ? 'delete' : version === null ? 'create' : 'update';
    touched.set(key, { entity_type: entity_type as TouchedRecord['entity_type'], entity_id, entity_name, action, version });
  }
  return [...touched.values()];
}

const versionOf = (row: Readonly<Record<string, unknown>> | null): number | null =>
  typeof row?.['version'] === 'number' ? row['version'] : null;
