import { and, eq, inArray, isNull } from 'drizzle-orm';
import type { Db } from '#core/store/store.ts';
import { uniqueViolation } from '#core/store/open.ts';
import { AppError } from '#core/errors.ts';
import { type Input, operations, type Output } from '#core/contract/index.ts';
import { leastRole } from '#core/contract/operation.ts';
import type { Context } from '#core/context/context.ts';
import { requireRemainingOwner } from '#core/identity/people-rules.ts';
import { requireRole } from '#core/context/roles.ts';
import { createSlices, runsOf } from '#core/lib/slices.ts';
import { asBatch, type BatchContext, writeAll } from '#core/records/batch.ts';
import { fewAtATime } from '#core/lib/slices.ts';
import { recordBlocked } from '#core/records/blocked.ts';
import { parkTaken } from '#core/records/parked-names.ts';
import { ROWS_PER_STATEMENT, checkVersion } from '#core/records/versioned.ts';
import { removeEmpty } from '#core/definitions/removal.ts';
import { deletedBeside, type HistoryRow } from '#core/records/history.ts';
import { openSecrets, shortEntry, toEntry } from '#core/records/history-entry.ts';
import type { CheckedRecord, Restorable } from '#core/records/restorable.ts';
import { ENTITY_SERVICES } from '#core/definitions/entity-services.ts';
import { type HistoryApp, RESTORABLES } from './restorables.ts';
import type { StoredEntity } from '#core/store/entity-table.ts';
import type { ConnectionRow } from '#core/sources/source-pool.ts';
import { storeCompiled } from '#core/sources/statements.ts';

/** A record to restore: `earlier` is its state before the entry, `now` the stored one. Null: it did not exist. */
interface RecordRestore {
  readonly kind: Restorable<HistoryApp>;
  readonly id: string;
  readonly name: string;
  readonly earlier: StoredEntity | null;
  readonly now: StoredEntity | null;
}

/** Restores the state before an entry, with all checks of a write. */
export async function rollback(
  context: Context<HistoryApp>,
  { history_id, dry_run, version }: Input<'history.rollback'>,
): Promise<Output<'history.rollback'>> {
  const target = await readEntry(context, history_id);
  refuseOthers(target);
  const steps = await toSteps(context, await undoneWith(context, target));
  // Throws when the actor may not change the settings.
  if (context.actor !== null && steps.some(({ kind }) => kind.entity_type === 'server_config')) {
    requireRole(context.actor, leastRole(operations['config.update']));
  }
  const main = steps.find(({ id }) => id === target.entity_id);
  if (main !== undefined && main.now !== null) checkVersion(main.kind.entity_type, main.now, version);
  if (steps.every(({ earlier, now }) => earlier === null && now === null)) {
    throw new AppError('conflict', `This ${target.entity_type} is already deleted. There is nothing to undo.`);
  }
  return asBatch(context, 'rollback', async (batched) => {
    const prepared = await prepareSteps(batched, steps);
    const write = (at_once: number) =>
      writeAll(batched, dry_run, async (inside, tx) => {
        await requireRemainingOwner(inside, tx, () =>
          applySteps(inside, tx, { steps, prepared, is_whole: isWhole(target), at_once }),
        );
        const { history } = inside.app.store.tables;
        const entries = await tx.select().from(history).where(eq(history.batch_id, batched.batch.batch_id)).orderBy(history.id);
        // If the record was deleted since the import, the first other entry is returned.
        const written = entries.find(({ entity_id }) => entity_id === target.entity_id) ?? entries[0];
        if (written === undefined) throw new AppError('internal', 'The rollback left no history.');
        const gone = main === undefined || main.earlier === null;
        const entry = toEntry(inside.app, written);
        // The response for a model contains the record once, in its present state.
        const shown = context.by_name === true ? { ...shortEntry(context.actor, entry), snapshot: null } : entry;
        const cascaded = await deletedBeside(inside, batched.batch.batch_id, new Set(steps.map(({ id }) => id)));
        return { entry: shown, entity: gone ? null : await main.kind.read(inside, main.id), cascaded, total: entries.length };
      });
    // When a statement with several records is refused, writing them one by one finds the faulty one.
    const answer = await write(ROWS_PER_STATEMENT).catch((error: unknown) => {
      if (!(error instanceof AppError) || error.code === 'unavailable' || steps.length === 1) throw error;
      return write(1);
    });
    if (dry_run) return answer;
    for (const { id, earlier } of steps) if (earlier === null) context.app.sources.drop(id);
    for (const kind of new Set(steps.map((step) => step.kind))) await kind.settle?.(context);
    return answer;
  });
}

async function readEntry({ app }: Context, id: string): Promise<HistoryRow> {
  const { history } = app.store.tables;
  const rows = await app.store.db.select().from(history).where(eq(history.id, id));
  if (rows[0] === undefined) throw new AppError('not_found', 'There is no history entry with this id.');
  return rows[0];
}

function refuseOthers({ action, entity_type }: HistoryRow): void {
  if (action === 'deploy') {
    throw new AppError('invalid', 'A deploy cannot be rolled back through the history. Restore an earlier version instead.');
  }
  if (action === 'blocked') throw new AppError('invalid', 'This entry records a rejected change. There is nothing to undo.');
  if (entity_type === 'admin') {
    throw new AppError('invalid', 'A change of a person cannot be rolled back. Edit the person instead.');
  }
  if (!RESTORABLES.some((kind) => kind.entity_type === entity_type)) {
    throw new AppError('invalid', `A change of this kind (${entity_type}) cannot be rolled back.`);
  }
}

/** Whether a rollback of the entry covers its whole batch. */
const isWhole = ({ action }: HistoryRow): boolean => action === 'import' || action === 'rollback';

/** The entries to roll back with this one: all of an import or a rollback, and everything that was deleted with a connection. */
async function undoneWith({ app }: Context, target: HistoryRow): Promise<HistoryRow[]> {
  const { history } = app.store.tables;
  if (target.batch_id === null) return [target];
  const batch = eq(history.batch_id, target.batch_id);
  if (isWhole(target)) {
    const entries = await app.store.db
      .select()
      .from(history)
      .where(and(batch, eq(history.action, target.action)))
      .orderBy(history.id);
    // When a record was written twice, its first entry has the state before the batch.
    const first = entries.toReversed().map((entry) => [`${entry.entity_type}/${entry.entity_id}`, entry] as const);
    return [...new Map(first).values()].toReversed();
  }
  if (target.after !== null) return [target];
  const deleted = await app.store.db
    .select()
    .from(history)
    .where(and(batch, isNull(history.after)));
  const owned = deleted.filter(({ before }) => before?.['connection_id'] === target.entity_id);
  const returning = new Set([target, ...owned].map(({ entity_id }) => entity_id));
  const tests = deleted.filter(({ before }) => returning.has(String(before?.['owner_id'])));
  return [...new Map([target, ...owned, ...tests].map((entry) => [entry.id, entry])).values()];
}

async function toSteps(context: Context<HistoryApp>, entries: readonly HistoryRow[]): Promise<RecordRestore[]> {
  const turn = createSlices();
  const steps: RecordRestore[] = [];
  for (const page of runsOf(entries, ROWS_PER_STATEMENT, (a, b) => a.entity_type === b.entity_type)) {
    const kind = RESTORABLES.find(({ entity_type }) => entity_type === page[0]?.entity_type);
    if (kind === undefined) throw new AppError('internal', `There is no noun for ${page[0]?.entity_type}.`);
    const ids = page.map(({ entity_id }) => entity_id);
    const now = await kind.noun.getAll(context, ids);
    for (const entry of page) {
      openSecrets(context.app, entry);
      const { entity_id: id, entity_name: name, before } = entry;
      steps.push({ kind, id, name, earlier: before as StoredEntity | null, now: now.get(id) ?? null });
    }
    await turn();
  }
  return steps;
}

/** Checks every state to restore, connections first, because their definitions are checked against them. */
async function prepareSteps(
  context: BatchContext<HistoryApp>,
  steps: readonly RecordRestore[],
): Promise<Map<string, CheckedRecord>> {
  const prepared = new Map<string, CheckedRecord>();
  const { cache } = context.batch;
  cache.planned = new Set(steps.flatMap(({ id, earlier }) => (earlier === null ? [] : [id])));
  const owners = new Set(steps.flatMap(({ earlier }) => ownerOf(earlier?.['connection_id'])));
  cache.owners = (await ENTITY_SERVICES.connection.noun.getAll(context, [...owners])) as ReadonlyMap<
    string,
    StoredEntity & ConnectionRow
  >;
  const { progress } = context.batch;
  progress.begin('check', steps.length);
  const prepare = async ({ kind, id, name, earlier, now }: RecordRestore): Promise<void> => {
    progress.add(1);
    if (earlier === null) return;
    const checked = await kind.prepareEarlier(context, earlier, now).catch(async (error: unknown) => {
      if (error instanceof AppError) await recordBlocked(context, kind.entity_type, { id, name }, error);
      throw steps.length === 1 ? parentConflict(error) : named(parentConflict(error), kind, name);
    });
    prepared.set(id, checked);
    if (kind.entity_type !== 'connection') return;
    const version = (now ?? earlier).version + 1;
    context.batch.connections.set(id, { ...earlier, ...checked.values, version } as ConnectionRow);
  };
  const connections = steps.filter(({ kind }) => kind.entity_type === 'connection');
  await fewAtATime(connections, ROWS_PER_STATEMENT, prepare);
  const others = steps.filter((step) => !connections.includes(step));
  await fewAtATime(others, ROWS_PER_STATEMENT, prepare);
  return prepared;
}

/** A deleted parent is a conflict with a later change, not a fault of the request. */
function parentConflict(error: unknown): unknown {
  const field = error instanceof AppError ? error.errors[0]?.field : undefined;
  if (field !== 'connection_id' && field !== 'owner.id') return error;
  const owner = field === 'owner.id' ? 'definition' : 'connection';
  return new AppError('conflict', `The ${owner} that this belonged to is deleted. Roll back its deletion first.`, {
    cause: error,
  });
}

const labelOf = ({ entity_type }: Restorable): string => entity_type.replaceAll('_', ' ');

function named(error: unknown, kind: Restorable, name: string, verb = 'restored'): unknown {
  const prefix = `The ${labelOf(kind)} ${name} cannot be ${verb}: `;
  if (!(error instanceof AppError) || error.detail.startsWith(prefix)) return error;
  return new AppError(error.code, `${prefix}${error.detail}`, { cause: error, errors: error.errors });
}

/** The error when another record has the name now. A restored record cannot get a different name. */
function taken(error: unknown, { kind, name }: RecordRestore): AppError | null {
  const [fault] = error instanceof AppError && uniqueViolation(error.cause) !== null ? error.errors : [];
  if (fault === undefined) return null;
  const label = labelOf(kind);
  const detail = `The ${label} ${name} cannot be restored: another ${label} now has its earlier ${fault.field}. Change or delete that one first.`;
  return new AppError('conflict', detail, { cause: error, errors: [{ field: fault.field, message: detail }] });
}

interface Applied {
  readonly steps: readonly RecordRestore[];
  readonly prepared: ReadonlyMap<string, CheckedRecord>;
  readonly is_whole: boolean;
  /** Records per statement. When a statement with several records is refused, the faulty one is unknown. */
  readonly at_once: number;
}

/**
 * Deletions come first to free names and addresses. Connections are restored before their definitions, and deleted after them.
 */
async function applySteps(inside: Context<HistoryApp>, tx: Db, { steps, prepared, is_whole, at_once }: Applied): Promise<void> {
  const turn = createSlices();
  inside.batch?.progress.begin('write', steps.length);
  const inPages = async (
    all: readonly RecordRestore[],
    verb: string,
    work: (page: readonly RecordRestore[]) => Promise<unknown>,
  ): Promise<void> => {
    for (const page of runsOf(all, at_once, (a, b) => a.kind === b.kind)) {
      await work(page).catch((error: unknown) => {
        const [step] = page;
        if (step === undefined || page.length > 1) throw error;
        throw taken(error, step) ?? (steps.length === 1 ? error : named(error, step.kind, step.name, verb));
      });
      inside.batch?.progress.add(page.length);
      await turn();
    }
  };
  const removeEach = (going: readonly RecordRestore[]) => inPages(going, 'deleted', (page) => remove(inside, tx, page, is_whole));
  const restoreEach = (coming: readonly RecordRestore[]) =>
    inPages(coming, 'restored', (page) => restore(inside, tx, page, prepared));
  const leaving = RESTORABLES.toReversed().flatMap((kind) =>
    steps.filter((step) => step.kind === kind && step.earlier === null && step.now !== null),
  );
  const returning = RESTORABLES.flatMap((kind) => steps.filter((step) => step.kind === kind && step.earlier !== null));
  const [tests, connections] = (['test', 'connection'] as const).map((type) =>
    leaving.filter(({ kind }) => kind.entity_type === type),
  ) as [RecordRestore[], RecordRestore[]];
  // Deleting a definition deletes its tests, so tests that belonged to another definition are moved back first.
  const left = new Set(leaving.map(({ id }) => id));
  const moving = returning.filter(({ now }) => left.has(String(now?.['owner_id'])));
  await parkTaken(
    inside,
    returning.map(({ kind, id, now }) => ({
      entity_type: kind.entity_type,
      id,
      stored: now,
      values: prepared.get(id)?.values ?? {},
    })),
  );
  await removeEach(tests);
  await restoreEach(moving);
  await removeEach(leaving.filter((step) => step.kind.entity_type !== 'test' && step.kind.entity_type !== 'connection'));
  await restoreEach(returning.filter((step) => !moving.includes(step)));
  await removeEach(connections);
}

/** @param steps of one kind. */
async function restore(
  inside: Context<HistoryApp>,
  tx: Db,
  steps: readonly RecordRestore[],
  prepared: ReadonlyMap<string, CheckedRecord>,
): Promise<void> {
  const coming = steps.flatMap(({ id, earlier, now }) => {
    const checked = prepared.get(id);
    return earlier === null || checked === undefined ? [] : [{ id, earlier, expected: now?.version ?? null, ...checked }];
  });
  const owners = coming.flatMap(({ values }) => ownerOf(values['connection_id']));
  await checkOwners(inside, [...new Set(owners)]);
  await steps[0]?.kind.noun.restoreAll(inside, tx, coming);
  await storeCompiled(inside.app, tx, coming);
}

/** @param steps of one kind. */
async function remove(inside: Context<HistoryApp>, tx: Db, steps: readonly RecordRestore[], is_whole: boolean): Promise<void> {
  const [first] = steps;
  if (first === undefined) return;
  const { kind } = first;
  const ids = steps.map(({ id }) => id);
  const current = await kind.noun.getAll(inside, ids, tx);
  for (const { id, now } of steps) {
    const stored = current.get(id);
    if (stored === undefined) throw new AppError('conflict', `This ${labelOf(kind)} is already deleted.`);
    checkVersion(kind.entity_type, stored, now?.version);
  }
  if (!is_whole || kind.entity_type !== 'connection') return void (await kind.removeAll(inside, tx, ids));
  // Definitions that others added to the connection since must not be deleted.
  for (const { id, name } of steps) {
    const stored = current.get(id) as StoredEntity;
    await removeEmpty(inside, { kind: ENTITY_SERVICES.connection, index: null, id, name, stored }).catch((error: unknown) => {
      throw error instanceof AppError && error.code === 'invalid'
        ? new AppError('conflict', error.detail, { cause: error })
        : error;
    });
  }
}

const ownerOf = (connection_id: unknown): string[] => (typeof connection_id === 'string' ? [connection_id] : []);

async function checkOwners({ app }: Context, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const { connections } = app.store.tables;
  const rows = await app.store.db
    .select({ id: connections.id })
    .from(connections)
    .where(inArray(connections.id, [...ids]));
  if (rows.length < ids.length) {
    throw new AppError('conflict', 'The connection that this belonged to is deleted. Roll back its deletion first.');
  }
}
