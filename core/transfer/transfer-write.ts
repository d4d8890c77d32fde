import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithProviders } from '#core/identity/providers/metadata.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import { inArray } from 'drizzle-orm';
import type { Import } from '#core/contract/transfer.ts';
import { AppError } from '#core/errors.ts';
import type { Context } from '#core/context/context.ts';
import { createSlices, runsOf } from '#core/lib/slices.ts';
import { type BatchContext, writeAll } from '#core/records/batch.ts';
import type { CheckedRecord } from '#core/records/restorable.ts';
import { parkTaken } from '#core/records/parked-names.ts';
import { keepOwner } from '#core/identity/people-rules.ts';
import { storeCompiled } from '#core/sources/statements.ts';
import { type ImportedConfig, importServerConfig, type SentConfig } from './transfer-config.ts';
import { checkUnchanged, type Deletions } from './transfer-deletes.ts';
import { type Deletion, removeEmpty, removeUnchanged } from '#core/definitions/removal.ts';
import { type Planned, readPlanned } from './transfer-checks.ts';
import type { Item } from './transfer-items.ts';

/** An item that passed every check. */
export interface CheckedItem extends Item {
  readonly prepared: CheckedRecord;
}

/** Everything that the transaction changes. */
export interface Written {
  readonly checked: readonly CheckedItem[];
  readonly deletions: Deletions;
  readonly patch: SentConfig | null;
}

/** What the transaction found out. */
export interface ImportResult {
  readonly config: ImportedConfig | null;
  /** Tests that went with their definitions. */
  readonly cascaded: number;
  /** What a dry run would leave, read when it is to be checked. */
  readonly planned: Planned | null;
}

/** Runs a part of the transaction and answers null if it was refused; the refusal of an item, or of the settings, is noted. */
export type Noting = <T>(item: CheckedItem | Deletion | null, work: () => Promise<T>) => Promise<T | null>;

/** Ends the transaction of an import that has faults; the report says which. */
const STOPPED = new Error('the import has faults');

/**
 * One transaction; null: it was refused, and nothing of it stays.
 * @param at_once how many records are written or deleted together; rejects when several are refused together.
 */
export async function writeItems(
  context: BatchContext<WithSources & WithProviders & WithSnapshots>,
  input: Import,
  { checked, deletions, patch }: Written,
  note: Noting,
  at_once: number,
): Promise<ImportResult | null> {
  const { dry_run, check, mode } = input;
  // In PostgreSQL nothing more can be said after the first refusal.
  const must = async <T>(item: CheckedItem | Deletion | null, work: () => Promise<T>): Promise<T> => {
    const done = await note(item, work);
    if (done === null) throw STOPPED;
    return done;
  };
  // Which of several is refused is not known.
  const mustAll = <T>(page: readonly (CheckedItem | Deletion)[], work: () => Promise<T>): Promise<T> => {
    const [only] = page;
    return page.length > 1 || only === undefined ? work() : must(only, work);
  };
  const written = writeAll(context, dry_run, async (inside): Promise<ImportResult> => {
    // Only here does nobody else write: what was checked before may have changed since.
    await checkUnchanged(inside, input);
    await checkOwners(inside, checked);
    const turn = createSlices();
    const { progress } = context.batch;
    progress.begin('write', checked.length + deletions.others.length + deletions.connections.length);
    const remove = async (items: readonly Deletion[]): Promise<number> => {
      let cascaded = 0;
      for (const page of runsOf(items, at_once, (a, b) => a.kind === b.kind)) {
        cascaded += await mustAll(page, () => removeUnchanged(inside, page));
        progress.add(page.length);
        await turn();
      }
      return cascaded;
    };
    const write = async (items: readonly CheckedItem[]): Promise<void> => {
      for (const page of runsOf(items, at_once, isAlike)) {
        await mustAll(page, () => writePage(inside, page));
        progress.add(page.length);
        await turn();
      }
    };
    // What goes leaves room for what comes, but a test that moves to another definition does not go with its own.
    const gone = new Set(deletions.others.map(({ id }) => id));
    const moves = ({ stored }: CheckedItem): boolean => gone.has(String(stored?.['owner_id']));
    await remove(deletions.others.filter(({ kind }) => kind.entity_type === 'test'));
    await parkTaken(
      inside,
      checked.map(({ kind, id, stored, prepared }) => ({ entity_type: kind.entity_type, id, stored, values: prepared.values })),
    );
    await write(checked.filter(moves));
    const cascaded = await remove(deletions.others.filter(({ kind }) => kind.entity_type !== 'test'));
    await write(checked.filter((item) => !moves(item)));
    for (const item of deletions.connections) {
      await must(item, () => removeEmpty(inside, item));
      progress.add(1);
    }
    const configure = (sent: SentConfig) =>
      keepOwner(inside, inside.app.store.db, () => importServerConfig(inside, sent, mode === 'overwrite'));
    const config = patch === null ? null : await must(null, () => configure(patch));
    return { config, cascaded, planned: dry_run && check ? await readPlanned(inside) : null };
  });
  return written.catch((error: unknown) => {
    if (error === STOPPED) return null;
    throw error;
  });
}

/** New records of one kind, or changes of one kind. */
const isAlike = (a: CheckedItem, b: CheckedItem): boolean => a.kind === b.kind && (a.stored === null) === (b.stored === null);

/** @param items that are alike. */
async function writePage(inside: Context, items: readonly CheckedItem[]): Promise<true> {
  const { app } = inside;
  const { db } = app.store;
  const noun = items[0]!.kind.noun;
  const created = items.flatMap(({ id, stored, prepared: { values } }) => (stored === null ? [{ id, values }] : []));
  const changed = items.flatMap(({ id, stored, prepared: { values } }) =>
    stored === null ? [] : [{ id, expected: stored.version, values }],
  );
  if (created.length > 0) await noun.insertAll(inside, db, created);
  if (changed.length > 0) await noun.updateAll(inside, db, changed);
  await storeCompiled(
    app,
    db,
    items.map(({ id, prepared: { compiled } }) => ({ id, compiled })),
  );
  return true;
}

/** A connection that was deleted since the checks must not leave records without one. */
async function checkOwners({ app, batch }: Context, checked: readonly CheckedItem[]): Promise<void> {
  const { connections } = app.store.tables;
  const owners = new Set(
    checked.flatMap(({ prepared }) => (prepared.values['connection_id'] as string | null | undefined) ?? []),
  );
  const stored = [...owners].filter((id) => batch?.connections.get(id) === undefined);
  if (stored.length === 0) return;
  const rows = await app.store.db.select({ id: connections.id }).from(connections).where(inArray(connections.id, stored));
  if (rows.length < stored.length) {
    throw new AppError('conflict', 'A connection was deleted during the import. Import again.', { reason: 'conflict' });
  }
}
