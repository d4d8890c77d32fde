import { count, lt, max } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { Change, Receipt } from '#core/contract/deploy/deploy.ts';
import type { Db } from '#core/store/open.ts';
import { AppError } from '#core/errors.ts';
import type { Context, Handlers } from '#core/run.ts';
import { diff } from '#snapshots/diff.ts';
import { freeze } from '#snapshots/freeze.ts';
import { readConfiguration } from './configuration.ts';
import {
  activeSnapshot,
  contentOf,
  type Deployment,
  KEPT_SNAPSHOTS,
  lastErrorOf,
  newestVersion,
  readDeployment,
  serverOf,
  statusOf,
  type StoredSnapshot,
  toStored,
  writeDeployment,
} from './deployment.ts';
import { checkExposure, exposureOf, snapshotToServe } from './exposure.ts';
import { writeGenerated } from './generated.ts';
import { recordHistory } from '#core/observe/history.ts';
import { prepare, type Prepared, refusal } from './prepare.ts';
import { countsOf, elapsed, probeListener, publish } from './publish.ts';
import { signal } from '#core/cluster/signals.ts';
import { replaceCompiled } from '#core/definitions/statements.ts';

export const deployHandlers: Pick<Handlers, Extract<keyof Handlers, `deploy.${string}`>> = {
  'deploy.run': (context, { note, dry_run }) => (dry_run ? rehearse(context) : inTurn(context.app, () => deploy(context, note))),
  'deploy.status': async ({ app }) => {
    await app.hosts.refresh();
    const state = await readDeployment(app);
    const { refused } = await snapshotToServe(app);
    return {
      status: statusOf(app, state, refused),
      snapshot_version: state.active_version,
      deployed_at: state.deployed_at,
      pending_changes: (await pendingChanges(app)).length,
      hosts: app.hosts.list(),
      last_error: lastErrorOf(app, state, refused),
      warnings: await standingWarnings(app, state),
    };
  },
  'deploy.diff': async ({ app }) => ({
    from_version: (await readDeployment(app)).active_version,
    changes: await pendingChanges(app),
  }),
  'deploy.stop': (context) =>
    inTurn(context.app, async () => {
      const { app } = context;
      await app.store.write(async (tx) => {
        await recordSwitch(context, tx, 'stopped');
        await writeDeployment(app, tx, { desired: 'stopped', last_error: null });
      });
      app.hosts.publish({ event: 'stop', data: {} });
      await signal(app, 'deployment');
      app.log.from('deploy').info('server stopped');
      return { status: 'stopped' as const };
    }),
};

async function standingWarnings(app: App, { desired }: Deployment): Promise<string[]> {
  const active = desired === 'running' ? await activeSnapshot(app) : null;
  const exposed = active === null ? null : await exposureOf(app, serverOf(active));
  return exposed === null ? [] : [exposed];
}

/** Deploys, stops and activations one after the other, over every server of the database. */
export const inTurn = <T>(app: App, work: () => Promise<T>): Promise<T> => app.deploy_lock(() => app.store.exclusive(work));

/** What waits for a deploy; worked out again only when the history or the active version moved since. */
async function pendingChanges(app: App): Promise<Change[]> {
  const { history } = app.store.tables;
  const [newest, { active_version }] = await Promise.all([
    app.store.db.select({ id: max(history.id), entries: count() }).from(history),
    readDeployment(app),
  ]);
  // With the count, because another server's clock may be behind.
  const key = `${newest[0]?.id ?? ''}:${newest[0]?.entries ?? 0}:${active_version ?? ''}`;
  const kept = app.pending_cache.get(key);
  if (kept !== undefined) return kept;
  const [frozen, active] = await Promise.all([readConfiguration(app).then(freeze), activeSnapshot(app)]);
  const changes = active?.checksum === frozen.checksum ? [] : diff(active === null ? null : contentOf(active), frozen.content);
  app.pending_cache.clear();
  app.pending_cache.set(key, changes);
  return changes;
}

async function deploy(context: Context, note: string | null): Promise<Receipt> {
  const { app } = context;
  const started = performance.now();
  try {
    const prepared = await prepare(app);
    if (prepared.problems.length > 0) throw refusal(prepared.problems);
    const active = await activeSnapshot(app);
    const changed = active?.checksum !== prepared.checksum;
    if (changed) await probeListener(app, active, prepared.content);
    // The hosts may have taken seconds.
    await checkExposure(app, prepared.content.server);
    const snapshot = active === null || changed ? await store(context, prepared, note) : await resume(context, active, prepared);
    const receipt = await publish(app, snapshot, { changed, content: prepared.content, warnings: prepared.warnings, started });
    if (changed) app.background(writeGenerated(app, snapshot));
    return receipt;
  } catch (error) {
    const message = error instanceof AppError ? error.detail : 'The deploy failed for an internal reason; see the log.';
    await app.store.write((tx) => writeDeployment(app, tx, { last_error: message }));
    app.log.from('deploy').error('deploy refused', { reason: message });
    throw error;
  }
}

/** What a deploy would answer; nothing is stored or sent. */
async function rehearse({ app }: Context): Promise<Receipt> {
  const started = performance.now();
  const prepared = await prepare(app);
  if (prepared.problems.length > 0) throw refusal(prepared.problems);
  const state = await readDeployment(app);
  const active = await activeSnapshot(app);
  return {
    status: statusOf(app, state),
    snapshot_version: state.active_version,
    checksum: prepared.checksum,
    changed: active?.checksum !== prepared.checksum,
    counts: countsOf(prepared.content),
    warnings: [...prepared.warnings],
    duration_ms: elapsed(started),
    hosts: [],
  };
}

async function store(
  context: Context,
  { text, checksum, content, refreshed }: Prepared,
  note: string | null,
): Promise<StoredSnapshot> {
  const { app, actor } = context;
  const { snapshots } = app.store.tables;
  const created_at = app.clock().toISOString();
  const version = await app.store.write(async (tx) => {
    const next = (await newestVersion(app, tx)) + 1;
    const by = { type: actor?.type ?? 'system', id: actor?.id ?? null, name: actor?.name ?? 'system' };
    await tx
      .insert(snapshots)
      .values({ version: next, checksum, content: text, counts: countsOf(content), note, actor: by, created_at });
    for (const [id, { before, after }] of refreshed) await replaceCompiled(app, tx, id, before, after);
    await writeDeployment(app, tx, { desired: 'running', active_version: next, deployed_at: created_at, last_error: null });
    await recordHistory(tx, context, {
      entity_type: 'snapshot',
      entity_id: String(next),
      entity_name: `v${next}`,
      action: 'deploy',
      before: null,
      after: { version: next, checksum, note },
    });
    await tx.delete(snapshots).where(lt(snapshots.version, next - KEPT_SNAPSHOTS + 1));
    return next;
  });
  const stored = toStored({ version, checksum, created_at }, text, content);
  app.snapshot_cache.clear();
  app.snapshot_cache.set(version, stored);
  return stored;
}

/** Notes who stopped the server or started it again; what it serves stays the same version. */
async function recordSwitch(context: Context, tx: Db, status: 'running' | 'stopped'): Promise<void> {
  const { desired, active_version: version } = await readDeployment(context.app, tx);
  if (version === null || desired === status) return;
  await recordHistory(tx, context, {
    entity_type: 'snapshot',
    entity_id: String(version),
    entity_name: `v${version}`,
    action: 'update',
    before: { version, status: desired },
    after: { version, status },
  });
}

/** The same configuration again: a stopped server starts. */
async function resume(context: Context, active: StoredSnapshot, { refreshed }: Prepared): Promise<StoredSnapshot> {
  const { app } = context;
  await app.store.write(async (tx) => {
    await recordSwitch(context, tx, 'running');
    for (const [id, { before, after }] of refreshed) await replaceCompiled(app, tx, id, before, after);
    await writeDeployment(app, tx, { desired: 'running', last_error: null });
  });
  return active;
}
