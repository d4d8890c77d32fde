import { desc, eq, sql } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import { lockedOut } from '#core/contract/config.ts';
import type { SnapshotSummary } from '#core/contract/deploy/snapshots.ts';
import type { Schema } from '#core/store/schema.ts';
import { AppError } from '#core/errors.ts';
import type { Context, Handlers } from '#core/run.ts';
import { keyOf } from '#core/lib/places.ts';
import { diff } from '#snapshots/diff.ts';
import type { SnapshotContent } from '#snapshots/format.ts';
import { activeSnapshot, contentOf, readDeployment, readSnapshot, type StoredSnapshot, writeDeployment } from './deployment.ts';
import { inTurn } from './deploys.ts';
import { recordHistory } from '#core/observe/history.ts';
import { snapshotSecrets } from '#core/identity/keys.ts';
import { checkExposure } from './exposure.ts';
import { probeListener, publish } from './publish.ts';
import { isSealed } from '#core/definitions/source-pool.ts';
import { refuseActivation } from '#core/identity/token-limits.ts';

type Row = Omit<Schema['snapshots']['$inferSelect'], 'content'>;

export const snapshotHandlers: Pick<Handlers, Extract<keyof Handlers, `snapshots.${string}`>> = {
  'snapshots.list': async ({ app }, { skip, limit }) => {
    const { content: _, ...columns } = columnsOf(app.store.tables.snapshots);
    const [{ active_version }, rows, totals] = await Promise.all([
      readDeployment(app),
      app.store.db.select(columns).from(app.store.tables.snapshots).orderBy(desc(columns.version)).limit(limit).offset(skip),
      app.store.db.select({ total: sql<number | string>`count(*)` }).from(app.store.tables.snapshots),
    ]);
    return { items: rows.map((row) => toSummary(row, active_version)), total: Number(totals[0]?.total ?? 0) };
  },
  'snapshots.get': async ({ app }, { version }) => {
    const { snapshots } = app.store.tables;
    const rows = await app.store.db.select().from(snapshots).where(eq(snapshots.version, version));
    const row = rows[0];
    if (row === undefined) throw missing(version);
    const { active_version } = await readDeployment(app);
    return {
      ...toSummary(row, active_version),
      ...unavailable(app, row.content),
      content: redact(JSON.parse(row.content)) as Record<string, unknown>,
    };
  },
  'snapshots.diff': async (context, { from, to }) => {
    const [before, after] = [await find(context, from), await find(context, to)];
    return { from_version: from, to_version: to, changes: diff(contentOf(before), contentOf(after)) };
  },
  'snapshots.activate': (context, { version, note }) => inTurn(context.app, () => activate(context, version, note)),
};

/** Serves an earlier snapshot as it was: nothing is frozen again, and tokens live outside of it. */
async function activate(context: Context, version: number, note: string | null) {
  const { app } = context;
  const started = performance.now();
  const snapshot = await find(context, version);
  const content = contentOf(snapshot);
  const active = await activeSnapshot(app);
  if (active !== null) await refuseActivation(context, contentOf(active), content);
  checkActivation(app, snapshot, content);
  const warnings = await checkExposure(app, content.server);
  await probeListener(app, active, content);
  // The hosts may have taken seconds.
  await checkExposure(app, content.server);
  await app.store.write(async (tx) => {
    const deployed_at = app.clock().toISOString();
    await writeDeployment(app, tx, { desired: 'running', active_version: version, deployed_at, last_error: null });
    await recordHistory(tx, context, {
      entity_type: 'snapshot',
      entity_id: String(version),
      entity_name: `v${version}`,
      action: 'deploy',
      before: active === null ? null : { version: active.version, checksum: active.checksum },
      after: { version, checksum: snapshot.checksum, note },
    });
  });
  return publish(app, snapshot, { changed: active?.version !== version, content, warnings, started });
}

/** What would fail at the first call, or may not be served here. */
function checkActivation(app: App, snapshot: StoredSnapshot, content: SnapshotContent): void {
  for (const { sealed, place } of snapshotSecrets(snapshot.text)) app.keyring.open(sealed, place);
  const locked = lockedOut(content.server);
  if (locked !== null) throw new AppError('cannot_deploy', `This snapshot lets no caller in: ${locked.message}`);
  const passthrough = content.tools.find((tool) => tool.passthrough === true);
  if (passthrough !== undefined && !app.env.SVC_ALLOW_PASSTHROUGH_SQL) {
    throw new AppError(
      'passthrough_sql_blocked',
      `The tool ${passthrough.name} of this snapshot takes its whole statement as a parameter. Set SVC_ALLOW_PASSTHROUGH_SQL=true to serve it.`,
    );
  }
}

async function find({ app }: Context, version: number): Promise<StoredSnapshot> {
  const stored = await readSnapshot(app, version);
  if (stored === null) throw missing(version);
  return stored;
}

/** Marks a snapshot with a secret that no key opens: it can be read, not activated. */
function unavailable({ keyring }: App, text: string): { secrets_unavailable?: true } {
  const lost = snapshotSecrets(text).some(({ sealed }) => !keyring.key_ids.includes(keyOf(sealed)));
  return lost ? { secrets_unavailable: true } : {};
}

const missing = (version: number): AppError => new AppError('not_found', `There is no snapshot ${version}.`);

const columnsOf = ({ version, checksum, counts, note, actor, created_at, content }: Schema['snapshots']) => ({
  version,
  checksum,
  counts,
  note,
  actor,
  created_at,
  content,
});

const toSummary = (
  { version, checksum, counts, note, actor, created_at }: Row,
  active_version: number | null,
): SnapshotSummary => ({
  version,
  checksum,
  active: version === active_version,
  note,
  counts,
  actor: actor as SnapshotSummary['actor'],
  created_at,
});

/** Ciphertext is nobody's business either. */
function redact(value: unknown): unknown {
  if (isSealed(value)) return '[redacted]';
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redact(item)]));
}
