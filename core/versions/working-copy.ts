import type { Platform } from '#core/platform/platform.ts';
import { asc, eq, getTableColumns, gt, inArray } from 'drizzle-orm';
import { readSettings, type Settings, toFrozen } from '#core/settings/settings.ts';
import { DEFINITION_KINDS, type DefinitionKind } from '#core/contract/entities.ts';
import { entityTable } from '#core/store/entity-table.ts';
import { changesSince, lastChange } from '#core/store/journal.ts';
import { createRecentMap, type RecentMap } from '#core/lib/recent-map.ts';
import { createLock, type Lock } from '#core/store/open.ts';
import type { Db } from '#core/store/store.ts';
import type { Compiled } from '#snapshots/freeze/compile.ts';
import type { Leaf } from '#snapshots/format/tree.ts';
import { createFrozenState, type FrozenState, type FrozenView } from '#snapshots/freeze/freeze.ts';
import { createSlices, pagesOf } from '#core/lib/slices.ts';

/** The stored configuration, frozen. Updating it reads, freezes and hashes only what was written since the last update. */
export interface WorkingCopy {
  readonly state: FrozenState;
  /** As they were when it was last brought up to date. */
  settings: Settings;
  /** Number of the last change that it includes. */
  seq: number;
  /** Ids of definitions whose database has not prepared their present statement. */
  readonly unprepared: Set<string>;
  /** Schema mark by connection: while the database reports the same mark, its statements need not be prepared again. */
  readonly schemas: Map<string, string>;
  /** The few definitions that changed last: the next deploy prepares their statements without reading them again. */
  readonly fresh: RecentMap<Definition>;
}

/** A row with its stored artifact. */
export type Definition = Awaited<ReturnType<typeof readDefinitions>>[number];

export interface WorkingCopyHolder {
  readonly lock: Lock;
  copy: WorkingCopy | null;
}
export const createWorkingCopyHolder = (): WorkingCopyHolder => ({ lock: createLock(), copy: null });

const ROWS_PER_STATEMENT = 500;
const MAX_FRESH = 50;

/** The working copy, brought up to date, and a view of its present state. The next reader may change the copy at any time. */
export function readWorkingCopy(
  app: Platform & WithWorkingCopy,
): Promise<{ readonly copy: WorkingCopy; readonly view: FrozenView; readonly settings: Settings }> {
  const holder = app.working_copy;
  return holder.lock(async () => {
    try {
      holder.copy = await app.store.read((tx) => update(app, tx, holder.copy));
      return { copy: holder.copy, view: holder.copy.state.view(), settings: holder.copy.settings };
    } catch (error) {
      // The update may have stopped halfway.
      holder.copy = null;
      throw error;
    }
  });
}

/** Forgets the working copy: the next reader reads and freezes everything again. */
export function forgetWorkingCopy({ working_copy }: WithWorkingCopy): void {
  working_copy.copy = null;
}

/** Frees the texts of leaves that are stored now. */
export function releaseFrozenTexts({ working_copy }: WithWorkingCopy, leaves: readonly Leaf[]): void {
  working_copy.copy?.state.forget(leaves);
}

async function update(app: Platform, tx: Db, copy: WorkingCopy | null): Promise<WorkingCopy> {
  if (copy === null) return readAll(app, tx);
  const [changes, { settings }] = await Promise.all([changesSince(app.store, tx, copy.seq), readSettings(app, tx)]);
  if (changes === null) return readAll(app, tx);
  copy.settings = settings;
  copy.state.putServer(toFrozen(settings));
  const ids = new Map<DefinitionKind, Set<string>>(DEFINITION_KINDS.map((kind) => [kind, new Set()]));
  for (const { kind, entity_id } of changes.changed) {
    if (kind === 'connection') await freezeChangedConnection(app, tx, copy, entity_id, ids);
    else if (kind !== 'server') ids.get(kind)?.add(entity_id);
  }
  for (const [kind, changed] of ids) await freezeDefinitions(app, tx, copy, kind, [...changed]);
  copy.seq = changes.seq;
  return copy;
}

/** Reads and freezes everything that a transaction sees. */
export async function readAll(app: Platform, tx: Db): Promise<WorkingCopy> {
  const state = createFrozenState(app.env.SVC_ALLOW_PASSTHROUGH_SQL);
  const { settings } = await readSettings(app, tx);
  const copy: WorkingCopy = {
    state,
    settings,
    seq: await lastChange(app.store, tx),
    unprepared: new Set(),
    schemas: new Map(),
    fresh: createRecentMap(MAX_FRESH),
  };
  state.putServer(toFrozen(settings));
  for (const row of await tx.select().from(app.store.tables.connections)) state.putConnection(row);
  for (const kind of DEFINITION_KINDS) {
    const table = entityTable(app.store, kind);
    for (let last = ''; ;) {
      const page = await tx
        .select({ id: table.id })
        .from(table)
        .where(gt(table.id, last))
        .orderBy(asc(table.id))
        .limit(ROWS_PER_STATEMENT);
      await freezeDefinitions(
        app,
        tx,
        copy,
        kind,
        page.map(({ id }) => id),
      );
      if (page.length < ROWS_PER_STATEMENT) break;
      last = page.at(-1)?.id ?? last;
    }
  }
  return copy;
}

/** Definitions are frozen with the limits of their connection, so they are added to `ids`, to be frozen again. */
async function freezeChangedConnection(
  app: Platform,
  tx: Db,
  { state, schemas }: WorkingCopy,
  id: string,
  ids: ReadonlyMap<DefinitionKind, Set<string>>,
): Promise<void> {
  const { connections } = app.store.tables;
  const [row] = await tx.select().from(connections).where(eq(connections.id, id));
  if (row === undefined) state.removeConnection(id);
  else state.putConnection(row);
  schemas.delete(id);
  for (const { entity_type, connection_id, id: owned } of state.outcomes()) {
    if (connection_id === id) ids.get(entity_type)?.add(owned);
  }
}

async function freezeDefinitions(
  app: Platform,
  tx: Db,
  { state, unprepared, fresh }: WorkingCopy,
  kind: DefinitionKind,
  ids: readonly string[],
): Promise<void> {
  const turn = createSlices();
  for (const page of pagesOf(ids, ROWS_PER_STATEMENT)) {
    const found = new Set<string>();
    for (const definition of await readDefinitions(app, tx, kind, page)) {
      const { row, compiled } = definition;
      await state.put(kind, row, compiled);
      if (ids.length <= MAX_FRESH) fresh.set(row.id, definition);
      else fresh.delete(row.id);
      found.add(row.id);
      unprepared.add(row.id);
      await turn();
    }
    for (const id of page.filter((one) => !found.has(one))) {
      state.remove(id);
      fresh.delete(id);
      unprepared.delete(id);
    }
  }
}

const HAS_STATEMENT: Readonly<Record<DefinitionKind, boolean>> = { tool: true, resource: true, prompt: false, toolset: false };

/** Rows of one kind with their stored artifacts. */
export async function readDefinitions(app: Platform, tx: Db, kind: DefinitionKind, ids: readonly string[]) {
  const table = entityTable(app.store, kind);
  const { compiled } = app.store.tables;
  const requested = inArray(table.id, [...ids]);
  if (!HAS_STATEMENT[kind]) return (await tx.select().from(table).where(requested)).map((row) => ({ row, compiled: undefined }));
  const rows = await tx
    .select({ row: getTableColumns(table), artifact: compiled.artifact })
    .from(table)
    .leftJoin(compiled, eq(compiled.entity_id, table.id))
    .where(requested);
  return rows.map(({ row, artifact }) => ({ row, compiled: (artifact ?? undefined) as Compiled | undefined }));
}

export interface WithWorkingCopy {
  readonly working_copy: WorkingCopyHolder;
}
