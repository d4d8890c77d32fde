import type { Platform } from '#core/platform/platform.ts';
import { exposureOf } from './exposure.ts';
import { readSettings, toFrozen } from '#core/settings/settings.ts';
import {
  type WithSnapshots,
  type StoredSnapshot,
  textsOf,
  cacheSnapshot,
  releaseTexts,
  storeSnapshot,
} from '#core/versions/stored-snapshots.ts';
import {
  activeSnapshot,
  type Deployment,
  readDeployment,
  readSwitchState,
  type SwitchState,
  writeDeployment,
} from '#core/versions/deployment.ts';
import { driftWarnings, readDrift, markDrift } from './checks/drift.ts';
import { AppError } from '#core/errors.ts';
import { lockEntityWrites, pruneChanges, noteChange } from '#core/store/journal.ts';
import type { Db } from '#core/store/store.ts';
import type { Input } from '#core/contract/index.ts';
import type { DeployApp } from './app.ts';
import type { Context } from '#core/context/context.ts';
import { canaryWarnings } from './candidates/stored-canaries.ts';
import { DRILL_WARNING } from '#core/contract/deploy/drill.ts';
import type { GateFinding, Receipt, Counts } from '#core/contract/deploy/deploy.ts';
import { publish, elapsed } from './publish.ts';
import type { GateName } from '#core/contract/settings/deploy-gates.ts';
import { type GateSubject, allowedBy, storedDetail, runGates } from './gates/gate.ts';
import { inSwitch } from './deploy-locks.ts';
import { type PreparedCopy, prepareWorkingCopy } from './prepare.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import { releaseFrozenTexts } from '#core/versions/working-copy.ts';
import type { WithVersions } from '#core/versions/versions.ts';
import { GATES, DRY_RUN_GATES } from './gates/index.ts';
import { collectAfter } from '#core/platform/collect-garbage.ts';
import { statusOf } from './status.ts';
import { deployPlan } from './candidates/stored-canaries.ts';
import { changesInPages } from './pending.ts';
import type { Leaf, Tree } from '#snapshots/format/tree.ts';
import { authorOf } from '#core/context/roles.ts';
import { recordVersion } from '#core/records/history.ts';
import { emitEvent } from '#core/records/events.ts';
import { replaceCompiled } from '#core/sources/statements.ts';
import { leavesOf } from '#snapshots/format/order.ts';

/** Warnings about what the next deploy would serve. */
export async function pendingWarnings(app: Platform): Promise<string[]> {
  const exposed = await exposureOf(app, toFrozen((await readSettings(app)).settings));
  return exposed === null ? [] : [exposed];
}

/** Of a server with `SVC_RESTORE_DRILL`. */
export const drillWarning = `${DRILL_WARNING} (SVC_RESTORE_DRILL): it sends no webhooks and no audit log, and orders no certificates. Restart it without the variable to put it in service.`;

/** Warnings about what is served now. */
export async function activeWarnings(app: Platform & WithSnapshots, state: Deployment): Promise<string[]> {
  const drill = app.env.SVC_RESTORE_DRILL ? [drillWarning] : [];
  const active = state.desired === 'running' ? await activeSnapshot(app, state) : null;
  if (active === null) return drill;
  const exposed = await exposureOf(app, active.server);
  return [...drill, ...(exposed === null ? [] : [exposed]), ...driftWarnings(await readDrift(app), active.version)];
}

/** The served state when a deploy is requested, or when its checks begin. */
export type ServedState = Pick<Deployment, 'desired' | 'active_version'>;

/**
 * Throws `conflict` when the server was stopped or another version was served since. Has to be first in the transaction that changes
 * what is served: `inSwitch` ends with its database connection, and then another server may do the same work.
 */
export async function refuseConcurrentSwitch(app: Platform, tx: Db, expected: ServedState): Promise<SwitchState> {
  await lockEntityWrites(app.store, tx);
  const state = await readSwitchState(app, tx);
  const { desired, active_version } = state;
  if (expected.desired === 'running' && desired === 'stopped')
    throw new AppError('conflict', 'The server was stopped in the meantime. Deploy again to start it.');
  if (active_version !== expected.active_version)
    throw new AppError('conflict', `Version ${active_version} was put in service in the meantime. Read the changes again.`);
  return state;
}

type DeployRequest = Pick<Input<'deploy.run'>, 'note' | 'allow' | 'checksum'>;

/** Throws `conflict` when the checksum that a person has read differs from all checksums of what would be deployed. */
export function requireChecksum(expected: string | undefined, actual: Iterable<string>): void {
  if (expected === undefined) return;
  for (const checksum of actual) if (checksum === expected) return;
  const detail = 'What would be deployed has changed since you read it. Read the changes again, then deploy.';
  throw new AppError('conflict', detail);
}

/** Freezes the working copy and serves it. A running canary keeps its callers. */
export async function deploy(
  context: Context<DeployApp>,
  request: DeployRequest,
  { desired }: Pick<Deployment, 'desired'>,
): Promise<Receipt> {
  const { app } = context;
  const started = performance.now();
  const served = await readSwitchState(app);
  const checked = await checkDeploy(context, request, served);
  const { receipt } = await inSwitch(
    app,
    async () => {
      const warnings = [...checked.warnings, ...canaryWarnings(served)];
      const snapshot = await storeOrResume(context, checked, request.note, { desired, active_version: served.active_version });
      return publish(app, snapshot, { changed: checked.changed, warnings, findings: checked.findings, started });
    },
    context,
  );
  const answer = await receipt();
  collectAfter(releaseTexts(app, MAX_CACHED_TEXTS));
  return answer;
}

interface Checked {
  readonly prepared: PreparedCopy;
  readonly subject: GateSubject;
  readonly active: StoredSnapshot | null;
  readonly changed: boolean;
  readonly warnings: readonly string[];
  readonly findings: readonly GateFinding[];
  readonly allowed: readonly GateName[];
}

async function storeOrResume(
  context: Context<WithSources & WithVersions>,
  { prepared, subject, active, changed, allowed }: Checked,
  note: string | null,
  expected: ServedState,
): Promise<StoredSnapshot> {
  if (active !== null && !changed) return resume(context, active, prepared, expected);
  return store(context, prepared, subject, active, expected, { note, ...allowedBy(allowed) });
}

/** Runs the gates on the working copy. */
async function checkDeploy(
  context: Context<DeployApp>,
  { allow, checksum }: DeployRequest,
  served: ServedState,
): Promise<Checked> {
  const { app } = context;
  let storeDrift: () => Promise<void> = () => Promise.resolve();
  try {
    const [prepared, active] = await Promise.all([prepareWorkingCopy(app), activeSnapshot(app, served)]);
    storeDrift = () => markServed(app, prepared, active);
    requireChecksum(checksum, checksumsOf(prepared));
    const subject = toGateSubject(app, prepared, active);
    const changed = active?.checksum !== prepared.tree.checksum;
    return { prepared, subject, active, changed, ...(await runGates(GATES, context, subject, active, allow)) };
  } catch (error) {
    // The active version stays, and so does the drift that was found in it.
    await storeDrift();
    // A conflict is not an error of the configuration.
    if (error instanceof AppError && error.code === 'conflict') throw error;
    const message =
      error instanceof AppError ? storedDetail(error) : 'The deploy failed because of an internal error. See the log.';
    await app.store.write((tx) => writeDeployment(app, tx, { last_error: message }));
    app.log.from('deploy').error('deploy refused', { reason: message });
    throw error;
  }
}

/** Marks the drifted definitions of the active version, which stays because nothing is deployed. */
async function markServed(app: Platform, { drifted }: PreparedCopy, active: StoredSnapshot | null): Promise<void> {
  if (active === null || drifted.length === 0) return;
  const served = new Set(active.tree.leaves.map(({ hash }) => hash));
  const still_served = drifted.filter(({ hash }) => served.has(hash)).map(({ hash: _, ...item }) => item);
  await markDrift(app, active.version, still_served);
}

/** The texts of a first deploy would fill the memory. Hosts that connect later get theirs from the database. */
const MAX_CACHED_TEXTS = 500;

/**
 * Checksums of the working copy: as its databases describe it now (which is deployed), and as it is stored (which the diff
 * shows).
 */
export function* checksumsOf({ stored, tree }: PreparedCopy): Iterable<string> {
  yield tree.checksum;
  yield stored();
}

/** Answers as a deploy would, without storing or sending anything. */
export async function rehearse(context: Context<DeployApp>, { allow, checksum }: DeployRequest): Promise<Receipt> {
  const { app } = context;
  const started = performance.now();
  const state = await readSwitchState(app);
  const [prepared, active] = await Promise.all([prepareWorkingCopy(app), activeSnapshot(app, state)]);
  requireChecksum(checksum, checksumsOf(prepared));
  const { warnings, findings } = await runGates(DRY_RUN_GATES, context, toGateSubject(app, prepared, active), active, allow);
  const changed = active?.checksum !== prepared.tree.checksum;
  return {
    status: await statusOf(app, state),
    snapshot_version: state.active_version,
    checksum: prepared.tree.checksum,
    changed,
    plan: deployPlan('the working copy', changed, state),
    counts: countsOf(prepared.tree),
    warnings: [...warnings, ...canaryWarnings(state)],
    findings: [...findings],
    duration_ms: elapsed(started),
    hosts: [],
  };
}

/** The working copy as the gates check it. */
export function toGateSubject(
  app: Platform & WithSnapshots,
  { server, settings, tree, problems, warnings, drifted, textOf }: PreparedCopy,
  active: StoredSnapshot | null,
): GateSubject {
  const texts = async (leaves: readonly Leaf[]): Promise<ReadonlyMap<string, string>> => {
    const fresh = leaves.flatMap(({ hash }) => (textOf(hash) === undefined ? [] : [[hash, textOf(hash) ?? ''] as const]));
    const rest = leaves.filter(({ hash }) => textOf(hash) === undefined);
    return new Map([...fresh, ...(rest.length === 0 ? [] : await textsOf(app, rest))]);
  };
  return {
    tree,
    server,
    settings,
    version: null,
    problems,
    warnings,
    texts,
    drifted: async () => drifted,
    changes: () => changesInPages(active?.tree ?? null, tree, texts),
  };
}

/** Versions after which the journal of changes is cut. */
const PRUNE_EVERY = 50;

async function store(
  context: Context<WithSources & WithVersions>,
  prepared: PreparedCopy,
  { server, tree }: GateSubject,
  active: StoredSnapshot | null,
  expected: ServedState,
  details: { readonly note: string | null; readonly allowed?: readonly GateName[] },
): Promise<StoredSnapshot> {
  const { app, actor } = context;
  const created_at = app.clock().toISOString();
  const by = authorOf(actor);
  const head = { checksum: tree.checksum, created_at, counts: countsOf(tree), tree, server };
  const storing = app.store.write(async (tx) => {
    const { newest_version } = await refuseConcurrentSwitch(app, tx, expected);
    const snapshot = await storeSnapshot(app, tx, { ...head, note: details.note, actor: by }, prepared.textOf, newest_version);
    const { version, checksum } = snapshot;
    await storeArtifacts(app, tx, prepared);
    await Promise.all([
      writeDeployment(app, tx, { desired: 'running', active_version: version, deployed_at: created_at, last_error: null }),
      recordVersion(tx, context, version, { action: 'deploy', before: null, after: { version, checksum, ...details } }),
      emitEvent(app, 'deploy', { version, checksum, note: details.note, by: by.name }, tx, actor),
      ...(version % PRUNE_EVERY === 0 ? [pruneChanges(app.store, tx)] : []),
    ]);
    return snapshot;
  });
  const stored = await storing.catch(async (error: unknown) => {
    const found = await activeSnapshot(app).catch(() => null);
    if (found?.checksum !== tree.checksum || found.version <= (active?.version ?? 0)) throw error;
    // It was committed, but the answer was lost with the connection.
    return found;
  });
  releaseFrozenTexts(app, stored.tree.leaves);
  return cacheSnapshot(app, stored);
}

/** Records who stopped the server or started it again. The version stays the same. */
export async function recordSwitch(context: Context, tx: Db, status: 'running' | 'stopped'): Promise<void> {
  const { desired, active_version: version } = await readDeployment(context.app, tx);
  if (version === null || desired === status) return;
  await recordVersion(tx, context, version, { before: { version, status: desired }, after: { version, status } });
}

/** Starts a stopped server with the same configuration. */
async function resume(
  context: Context,
  active: StoredSnapshot,
  prepared: PreparedCopy,
  expected: ServedState,
): Promise<StoredSnapshot> {
  const { app } = context;
  await app.store.write(async (tx) => {
    await refuseConcurrentSwitch(app, tx, expected);
    await recordSwitch(context, tx, 'running');
    await storeArtifacts(app, tx, prepared);
    await writeDeployment(app, tx, { desired: 'running', last_error: null });
  });
  return active;
}

async function storeArtifacts(app: Platform, tx: Db, { refreshed }: PreparedCopy): Promise<void> {
  for (const [id, { kind, before, after }] of refreshed) {
    await noteChange(app.store, tx, kind, id);
    await replaceCompiled(app, tx, id, before, after);
  }
}

export function countsOf({ leaves }: Tree): Counts {
  const of = (kind: Leaf['kind']) => leavesOf(leaves, kind).length;
  return {
    connections: of('connection'),
    tools: of('tool'),
    resources: of('resource'),
    prompts: of('prompt'),
    toolsets: of('toolset'),
  };
}
