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
import { requireRemainingOwner } from '#core/identity/people-rules.ts';
import { storeCompiled } from '#core/sources/statements.ts';
import { type ImportedConfig, importServerConfig, type SentConfig } from './transfer-config.ts';
import { checkUnchanged, type Deletions } from './transfer-deletes.ts';
import { type Deletion, removeEmpty, removeUnchanged } from '#core/definitions/removal.ts';
import { type Planned, readPlanned } from './transfer-checks.ts';
import { writePushed } from './pushed.ts';
import type { Item } from './transfer-items.ts';

/** An item that passed every check. */
export interface CheckedItem extends Item {
  readonly prepared: CheckedRecord;
}

/** The changes of the transaction. */
export interface Written {
  readonly checked: readonly CheckedItem[];
  readonly deletions: Deletions;
  readonly patch: SentConfig | null;
}

/** The result of the transaction. */
export interface ImportResult {
  readonly config: ImportedConfig | null;
  /** Number of tests that were deleted with their definitions. */
  readonly cascaded: number;
  /** The configuration after a dry run, if it will be checked. */
  readonly planned: Planned | null;
}

/** Runs a part of the transaction. Collects a refusal of an item or of the settings, and returns null. */
export type Noting = <T>(item: CheckedItem | Deletion | null, work: () => Promise<T>) => Promise<T | null>;

/** Rolls back the transaction of an import with faults, which are collected. */
const STOPPED = new Error('the import has faults');

/**
 * Writes an import in one transaction. @returns null when it was refused and rolled back.
 * @param at_once records per statement. Rejects when a statement with several records is refused.
 */
export async function writeItems(
  context: BatchContext<WithSources & WithProviders & WithSnapshots>,
  input: Import,
  { checked, deletions, patch }: Written,
  note: Noting,
  at_once: number,
): Promise<ImportResult | null> {
  const { dry_run, check, mode } = input;
  // PostgreSQL accepts no further statement in a transaction after an error.
  const must = async <T>(item: CheckedItem | Deletion | null, work: () => Promise<T>): Promise<T> => {
    const done = await note(item, work);
    if (done === null) throw STOPPED;
    return done;
  };
  // With several records it is unknown which one is refused.
  const mustAll = <T>(page: readonly (CheckedItem | Deletion)[], work: () => Promise<T>): Promise<T> => {
    const [only] = page;
    return page.length > 1 || only === undefined ? work() : must(only, work);
  };
  const written = writeAll(context, dry_run, async (inside): Promise<ImportResult> => {
    // From here on no other write runs. Earlier checks may be outdated.
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
      for (const page of runsOf(items, at_once, isSameStatement)) {
        await mustAll(page, () => writePage(inside, page));
        progress.add(page.length);
        await turn();
      }
    };
    // Deletions come first to make room. But tests that move to another definition are written before their old one is deleted.
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
      requireRemainingOwner(inside, inside.app.store.db, () => importServerConfig(inside, sent, mode === 'overwrite'));
    const config = patch === null ? null : await must(null, () => configure(patch));
    if (input.pushed !== undefined) await writePushed(inside, input.pushed);
    return { config, cascaded, planned: dry_run && check ? await readPlanned(inside) : null };
  });
  return written.catch((error: unknown) => {
    if (error === STOPPED) return null;
    throw error;
  });
}

/** Whether one statement can write both: new records of one kind, or changes of one kind. */
const isSameStatement = (a: CheckedItem, b: CheckedItem): boolean =>
  a.kind === b.kind && (a.stored === null) === (b.stored === null);

/** @param items that one statement can write. */
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

/** Throws when a connection was deleted since the checks, so that no definition loses its connection. */
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
