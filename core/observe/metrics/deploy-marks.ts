import type { Platform } from '#core/platform/platform.ts';
import { and, desc, eq, lt } from 'drizzle-orm';
import type { DeployMark } from '#core/contract/observe/metrics.ts';
import type { Span } from './ranges.ts';

const MOST = 500;

/** Versions that went live within a span, in order. */
export async function readDeployMarks({ store }: Platform, { from, until }: Span): Promise<DeployMark[]> {
  const { history } = store.tables;
  const rows = await store.db
    .select({ after: history.after, actor: history.actor, at: history.created_at, entity_id: history.entity_id })
    .from(history)
    .where(
      and(
        eq(history.action, 'deploy'),
        eq(history.entity_type, 'snapshot'),
        lt(history.created_at, new Date(until).toISOString()),
      ),
    )
    .orderBy(desc(history.id))
    .limit(MOST);
  const marks: DeployMark[] = [];
  let before: number | null = null;
  let most = 0;
  for (const { after, actor, at, entity_id } of rows.toReversed()) {
    const version = Number(entity_id);
    const note = after?.['note'];
    const details = { note: typeof note === 'string' ? note : null, by: actor.name };
    // Version numbers increase, so a version that is not the newest was restored.
    if (version !== before) marks.push({ version, from_version: before, at, ...details, restored: version <= most });
    before = version;
    most = Math.max(most, version);
  }
  return marks.filter(({ at }) => Date.parse(at) >= from);
}
