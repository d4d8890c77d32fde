import type { DeployApp } from '#core/deploy/app.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import { type WithSnapshots, contentOf, readSnapshot, type StoredSnapshot, textsOf } from '#core/versions/stored-snapshots.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { GateName } from '#core/contract/settings/deploy-gates.ts';
import { desc, eq, getTableColumns } from 'drizzle-orm';
import type { Input } from '#core/contract/index.ts';
import type { SnapshotSummary } from '#core/contract/deploy/snapshots.ts';
import type { Schema } from '#core/store/schema.ts';
import { AppError } from '#core/errors.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import { REDACTED } from '#core/contract/history.ts';
import { keyOf, replaceSealed } from '#core/lib/sealed-values.ts';
import { activeSnapshot, readDeployment, type SwitchState, writeDeployment } from '#core/versions/deployment.ts';
import { inUrgentSwitch } from './deploy-locks.ts';
import { type ServedState, refuseConcurrentSwitch } from './deploys.ts';
import { recordVersion } from '#core/records/history.ts';
import { emitEvent } from '#core/records/events.ts';
import { blobSecrets } from '#core/versions/sealed-records.ts';
import { readTree } from '#core/store/trees.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import { differingIn, HOLDS_SECRETS, type Leaf } from '#snapshots/format/tree.ts';
import { driftOf } from './checks/describe-again.ts';
import { canaryWarnings } from './candidates/stored-canaries.ts';
import { type GateSubject, once, runGates, allowedBy } from './gates/gate.ts';
import { GATES } from './gates/index.ts';
import { changesBetween, changesInPages, markSuperusers } from './pending.ts';
import { publish } from './publish.ts';
import { describeVersions, type VersionHistory } from './version-summaries.ts';
import { refuseVersion } from './weaker.ts';

type Row = Omit<Schema['snapshots']['$inferSelect'], 'content'>;

export const snapshotHandlers: Pick<Handlers<DeployApp>, Extract<keyof Handlers<DeployApp>, `snapshots.${string}`>> = {
  'snapshots.list': async ({ app }, { skip, limit }) => {
    const { snapshots } = app.store.tables;
    const { content: _, ...columns } = getTableColumns(snapshots);
    const [{ active_version }, rows, total] = await Promise.all([
      readDeployment(app),
      app.store.db.select(columns).from(snapshots).orderBy(desc(columns.version)).limit(limit).offset(skip),
      app.store.db.$count(snapshots),
    ]);
    const stories = await describeVersions(
      app,
      rows.map(({ version }) => version),
    );
    return { items: rows.map((row) => toSummary(row, active_version, stories)), total };
  },
  'snapshots.get': async ({ app }, { version }) => {
    const { snapshots } = app.store.tables;
    const rows = await app.store.db.select().from(snapshots).where(eq(snapshots.version, version));
    const row = rows[0];
    if (row === undefined) throw missing(version);
    const { active_version } = await readDeployment(app);
    const { leaves } = await readTree(app.store, app.store.db, row.content);
    return {
      ...toSummary(row, active_version, await describeVersions(app, [version])),
      ...(await unavailable(app, leaves)),
      content: replaceSealed(await contentOf(app, leaves), () => REDACTED) as Record<string, unknown>,
    };
  },
  'snapshots.diff': async (context, { from, to }) => {
    const [before, after] = [await find(context, from), await find(context, to)];
    const changes = await changesBetween(before.tree, after.tree, (leaves) => textsOf(context.app, leaves));
    return { from_version: from, to_version: to, changes: await markSuperusers(context.app, changes) };
  },
  'snapshots.activate': (context, input) => activate(context, input),
};

/** Serves an earlier snapshot unchanged. Tokens are not part of it. It does not wait for a running deploy. */
async function activate(context: Context<DeployApp>, { version, note, allow }: Input<'snapshots.activate'>) {
  const { app } = context;
  const started = performance.now();
  const snapshot = await find(context, version);
  const expected = await readDeployment(app);
  const active = await activeSnapshot(app, expected);
  if (active !== null) await refuseVersion(context, active, snapshot);
  const { warnings, findings, allowed } = await runGates(GATES, context, storedSubject(app, snapshot, active), active, allow);
  const { receipt } = await inUrgentSwitch(
    app,
    async () => {
      const state = await storeActive(context, snapshot, active, { note, allowed, expected });
      const all = [...warnings, ...canaryWarnings(state)];
      return publish(app, snapshot, { changed: active?.version !== version, warnings: all, findings, started });
    },
    context,
  );
  return receipt();
}

async function storeActive(
  context: Context,
  snapshot: StoredSnapshot,
  active: StoredSnapshot | null,
  {
    note,
    allowed,
    expected,
  }: { readonly note: string | null; readonly allowed: readonly GateName[]; readonly expected: ServedState },
): Promise<SwitchState> {
  const { app } = context;
  const { version } = snapshot;
  return app.store.write(async (tx) => {
    const state = await refuseConcurrentSwitch(app, tx, expected);
    const deployed_at = app.clock().toISOString();
    await writeDeployment(app, tx, { desired: 'running', active_version: version, deployed_at, last_error: null });
    const before = active === null ? null : { version: active.version, checksum: active.checksum };
    const after = { version, checksum: snapshot.checksum, note, ...allowedBy(allowed) };
    await recordVersion(tx, context, version, { action: 'deploy', before, after });
    const data = { version, from_version: active?.version ?? null, checksum: snapshot.checksum, note };
    await emitEvent(app, 'rollback', { ...data, by: context.actor?.name ?? 'system' }, tx, context.actor);
    return state;
  });
}

/** A stored version or candidate as the gates check it. */
export function storedSubject(
  app: WithSources & WithSnapshots,
  { tree, server, version }: StoredSnapshot,
  active: StoredSnapshot | null,
): GateSubject {
  const texts = (leaves: readonly Leaf[]) => textsOf(app, leaves);
  const changes = () => changesInPages(active?.tree ?? null, tree, texts);
  // Definitions of the active version were checked when it was deployed.
  const drifted = once(async () => {
    const { now } = differingIn(active?.tree ?? null, tree);
    return (await driftOf(app, now, tree.leaves, texts)).found;
  });
  return { tree, server, version, problems: [], warnings: [], texts, changes, drifted };
}

async function find({ app }: Context<WithSources & WithSnapshots>, version: number): Promise<StoredSnapshot> {
  const stored = await readSnapshot(app, version);
  if (stored === null) throw missing(version);
  return stored;
}

/** Marks a snapshot with a secret that no key opens: it can be read, but not activated. */
async function unavailable(app: Platform & WithSnapshots, leaves: readonly Leaf[]): Promise<{ secrets_unavailable?: true }> {
  const sealed = HOLDS_SECRETS.flatMap((kind) => leavesOf(leaves, kind));
  const texts = await textsOf(app, sealed);
  const secrets = sealed.flatMap(({ kind, hash }) => blobSecrets({ kind, text: texts.get(hash) ?? '' }));
  return secrets.some((secret) => !app.keyring.key_ids.includes(keyOf(secret.sealed))) ? { secrets_unavailable: true } : {};
}

const missing = (version: number): AppError => new AppError('not_found', `There is no snapshot ${version}.`);

const UNTOLD: VersionHistory = { summary: null, same_as: null, restored: null };

const toSummary = (row: Row, active_version: number | null, stories: ReadonlyMap<number, VersionHistory>): SnapshotSummary => ({
  ...row,
  active: row.version === active_version,
  ...(stories.get(row.version) ?? UNTOLD),
});
