import type { OperationName } from '#core/contract/index.ts';
import { type DeployApp, deploysOfCopy } from '#core/deploy/app.ts';
import { type SourcePool, createSourcePool, type ConnectionRow, mapSources } from '#core/sources/source-pool.ts';
import type { RequestContext, RunOperations, Recorded, ProposalRun } from '#core/context/context.ts';
import { ENTITY_KINDS, CONFIGURED } from '#core/contract/entities.ts';
import { createMemoryKv } from '#core/cluster/memory.ts';
import { createVersions } from '#core/versions/versions.ts';
import { forgetWorkingCopy } from '#core/versions/working-copy.ts';
import { openMemoryStore } from './memory-store.ts';
import { createHash } from 'node:crypto';
import { asc, gt, eq, inArray, or, count, max } from 'drizzle-orm';
import { entityTable } from '#core/store/entity-table.ts';
import type { Db, Store } from '#core/store/store.ts';
import { AppError } from '#core/errors.ts';
import type { Platform } from '#core/platform/platform.ts';
import { lastChange } from '#core/store/journal.ts';
import type { ProposalAuthor, TouchedRecord } from '#core/contract/proposals.ts';

/** Answers of databases about statements, by connection and statement. */
export type RecordedAnswers = Map<string, unknown>;

/** An operation of a proposal. */
export interface ProposedOperation {
  readonly operation: OperationName;
  readonly input: Readonly<Record<string, unknown>>;
}

/** The working copy with a proposal applied, in a store in memory, which is discarded. */
export interface Overlay {
  readonly app: DeployApp;
  /** Sessions to the connections of this copy. */
  readonly sources: SourcePool;
  /** Recorded answers of databases about statements. */
  readonly recalled: RecordedAnswers;
  /** How many operations are applied. */
  readonly applied: number;
  /** Applies an operation. A failed one leaves no trace. */
  apply(runner: RunOperations<DeployApp>, step: ProposedOperation, call: RequestContext): Promise<Applied>;
  /** Runs an operation that only reads or previews, and rolls it back. */
  tryRead(runner: RunOperations<DeployApp>, step: ProposedOperation, call: RequestContext): Promise<unknown>;
  close(): Promise<void>;
}

export interface Applied {
  readonly output: unknown;
  readonly written: readonly Recorded[];
}

/** The proposal of an overlay. */
export interface Owner {
  readonly id: string;
  readonly created_at: string;
  readonly author: ProposalAuthor;
}

const COPIED = [...ENTITY_KINDS.map((kind) => kind), 'compiled'] as const;

const ROWS_PER_READ = 500;

/** SQLite allows 32,766 values per statement. */
const ROWS_PER_INSERT = 400;

export async function openOverlay(app: DeployApp, owner: Owner): Promise<Overlay> {
  const scratch = await openMemoryStore();
  await app.store.read((tx) => copyConfiguration(app.store, tx, scratch));
  const live = new Map((await scratch.db.select().from(scratch.tables.connections)).map((row) => [row.id, row]));
  const recalled: RecordedAnswers = new Map();
  const overlay_pool = createSourcePool(app.policy, app.secrets);
  const sources = withUnchangedShared(app.sources, overlay_pool, live);
  const inside: DeployApp = {
    ...app,
    store: scratch,
    // A trial must not raise the counters of the installation.
    kv: createMemoryKv(() => app.clock().getTime()),
    sources: recordingSources(sources, recalled, 'note'),
    ...createVersions(),
    ...deploysOfCopy(),
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
      const proposal_run = proposalRunOf(owner, tried, true);
      try {
        const output = await scratch.attempt((store) =>
          runner.perform({ ...inside, store }, operation, input, { ...call, proposal_run }),
        );
        ids = tried;
        applied += 1;
        return { output, written: proposal_run.written };
      } catch (error) {
        // The working copy may contain changes that were rolled back.
        forgetWorkingCopy(inside);
        throw error;
      }
    },
    async tryRead(runner, { operation, input }, call) {
      await copyHistory(app.store, scratch, operation, input);
      return scratch.attempt((store) => runner.perform({ ...inside, store }, operation, input, call));
    },
    async close() {
      await overlay_pool.close();
      await scratch.close();
    },
  };
}

export const proposalRunOf = ({ id, author }: Owner, ids: Ids, is_trial: boolean): ProposalRun => ({
  proposal_id: id,
  author: author.name,
  person: author.type === 'admin' ? author.id : null,
  is_trial,
  newId: (kind, name) => ids.next(kind, name),
  written: [],
});

export interface Ids {
  next(kind: string, name: string): string;
  copy(): Ids;
}

/** Ids of new records, derived from their names, so that every run gives the same ones (UUIDv7 with the time of the proposal). */
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

/** Uses the sessions of the installation for connections that the proposal does not change. */
function withUnchangedShared(live: SourcePool, changed: SourcePool, rows: ReadonlyMap<string, ConnectionRow>): SourcePool {
  const poolOf = (row: ConnectionRow) => (rows.get(row.id)?.version === row.version ? live : changed);
  return {
    of: (row) => poolOf(row).of(row),
    isSuperuser: (row) => poolOf(row).isSuperuser(row),
    open: (settings) => changed.open(settings),
    share: (key, settings) => changed.share(key, settings),
    filesChanged: () => live.filesChanged(),
    drop: (id) => changed.drop(id),
    close: () => changed.close(),
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
      const rows = await tx.select().from(source).where(gt(key, last)).orderBy(asc(key)).limit(ROWS_PER_READ);
      for (let at = 0; at < rows.length; at += ROWS_PER_INSERT) {
        await to.db.insert(target).values(rows.slice(at, at + ROWS_PER_INSERT));
      }
      if (rows.length < ROWS_PER_READ) break;
      const end = rows.at(-1) as { readonly id?: string; readonly entity_id?: string };
      last = end.entity_id ?? end.id ?? '';
    }
  }
}

type Schema = Store['tables'];

/** Copies the history that a rollback reads. The whole history would be too long. */
async function copyHistory(from: Store, to: Store, operation: OperationName, input: ProposedOperation['input']): Promise<void> {
  const history_id = input['history_id'];
  if (operation !== 'history.rollback' || typeof history_id !== 'string') return;
  const { history } = from.tables;
  const found = await from.db
    .select()
    .from(history)
    .where(or(eq(history.id, history_id), eq(history.batch_id, history_id), eq(history.entity_name, history_id)))
    .limit(ROWS_PER_READ);
  const batches = [...new Set(found.flatMap(({ batch_id }) => batch_id ?? []))];
  const entities = [...new Set(found.map(({ entity_id }) => entity_id))];
  if (entities.length === 0) {
    const { history: proposed } = to.tables;
    if ((await to.db.$count(proposed, or(eq(proposed.id, history_id), eq(proposed.batch_id, history_id)))) === 0) return;
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
  for (let at = 0; at < rows.length; at += ROWS_PER_INSERT) {
    await to.db
      .insert(to.tables.history)
      .values(rows.slice(at, at + ROWS_PER_INSERT))
      .onConflictDoNothing();
  }
}

/** A text that changes whenever the configuration changes. */
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

/** The records that an operation changes, each once, with its version before. */
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

/**
 * Sources that record the answers of their databases about statements, or repeat recorded ones: no database is queried while a
 * transaction of the metadata database is open.
 */
export function recordingSources(pool: SourcePool, recalled: RecordedAnswers, mode: 'note' | 'repeat'): SourcePool {
  return mapSources(pool, (source, row) => {
    const recorded =
      <A extends unknown[], R>(method: string, query: (...input: A) => Promise<R>) =>
      async (...input: A): Promise<R> => {
        const key = JSON.stringify([row.id, method, input]);
        if (mode === 'repeat' && recalled.has(key)) return recalled.get(key) as R;
        const answer = await query(...input);
        const whole = !Array.isArray(answer) || !answer.some((one) => one instanceof AppError);
        if (whole) recalled.set(key, answer);
        return answer;
      };
    return {
      ...source,
      describe: recorded('describe', source.describe.bind(source)),
      ...(source.describeAll === undefined ? {} : { describeAll: recorded('describeAll', source.describeAll.bind(source)) }),
      ...(source.origins === undefined ? {} : { origins: recorded('origins', source.origins.bind(source)) }),
    };
  });
}
