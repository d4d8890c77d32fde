import { count, inArray } from 'drizzle-orm';
import type { App } from '#core/platform/platform.ts';
import { MOST_TESTS, type TestOwner } from '#core/contract/definitions/tests.ts';
import { MOST_TOOLSETS } from '#core/contract/definitions/toolsets.ts';
import type { EntityKind } from '#core/contract/entities.ts';
import { AppError } from '#core/errors.ts';
import type { Db } from '#core/store/store.ts';

/**
 * Refuses records that are more than there may be (contract section 22). Counts what is stored with them, so that what the same
 * transaction deleted before leaves room. @param rows that were written, in a transaction that writes entities alone.
 */
export async function refuseTooMany(app: App, tx: Db, kind: EntityKind, rows: readonly object[]): Promise<void> {
  await CHECKS[kind]?.(app, tx, rows);
}

const CHECKS: Partial<Readonly<Record<EntityKind, typeof toolsets>>> = { toolset: toolsets, test: tests };

async function toolsets({ store }: Pick<App, 'store'>, tx: Db, _: readonly object[]): Promise<void> {
  if ((await tx.$count(store.tables.toolsets)) <= MOST_TOOLSETS) return;
  throw new AppError('conflict', `An installation has at most ${MOST_TOOLSETS} toolsets. Delete one first.`);
}

async function tests({ store }: Pick<App, 'store'>, tx: Db, rows: readonly object[]): Promise<void> {
  const { tests: table } = store.tables;
  const owners = new Map((rows as readonly { owner: TestOwner }[]).map(({ owner }) => [owner.id, owner.kind]));
  const counted = await tx
    .select({ owner_id: table.owner_id, stored: count() })
    .from(table)
    .where(inArray(table.owner_id, [...owners.keys()]))
    .groupBy(table.owner_id);
  const crowded = counted.find(({ stored }) => stored > MOST_TESTS);
  if (crowded === undefined) return;
  const message = `A ${owners.get(crowded.owner_id)} has at most ${MOST_TESTS} tests. Delete one first.`;
  throw new AppError('conflict', message, { errors: [{ field: 'owner', message }] });
}
