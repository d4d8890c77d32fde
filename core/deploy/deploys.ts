import type { Platform } from '#core/platform/platform.ts';
import { exposureOf } from './exposure.ts';
import { readSettings, toFrozen } from '#core/settings/settings.ts';
import {
  type WithSnapshots,
  type StoredSnapshot,
  textsOf,
  cacheSnapshot,
  storeSnapshot,
} from '#core/versions/stored-snapshots.ts';
import { activeSnapshot, type Deployment, readDeployment, writeDeployment } from '#core/versions/deployment.ts';
import { driftWarnings, readDrift, markDrift } from './checks/drift.ts';
import type { WithDeployLock } from './turns.ts';
import { AppError } from '#core/errors.ts';
import { writeAlone, pruneChanges, noteChange } from '#core/store/journal.ts';
import type { Db } from '#core/store/store.ts';
import type { Input } from '#core/contract/index.ts';
import type { DeployApp } from './app.ts';
import type { Context } from '#core/context/context.ts';
import { canaryWarnings } from './candidates/stored-canaries.ts';
import type { Receipt, Counts } from '#core/contract/deploy/deploy.ts';
import { publish, elapsed } from './publish.ts';
import type { GateName } from '#core/contract/settings/deploy-gates.ts';
import { type GateSubject, allowedBy, keptDetail, runGates } from './gates/gate.ts';
import { type PreparedCopy, prepare } from './prepare.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithWorkingCopy } from '#core/versions/working-copy.ts';
import { GATES, REHEARSED } from './gates/index.ts';
import { collectAfter } from '#core/platform/collect-garbage.ts';
import { statusOf } from './status.ts';
import { deployPlan } from './candidates/dry-run-plan.ts';
import { changesInPages } from './pending.ts';
import type { Leaf, Tree } from '#snapshots/format/tree.ts';
import { authorOf } from '#core/context/roles.ts';
import { recordVersion } from '#core/records/history.ts';
import { emitEvent } from '#core/records/events.ts';
import { replaceCompiled } from '#core/sources/statements.ts';
import { leavesOf } from '#snapshots/format/order.ts';

/** Said before the deploy, while there is still time. */
export async function comingWarnings(app: Platform): Promise<string[]> {
  const exposed = await exposureOf(app, toFrozen((await readSettings(app)).settings));
  return exposed === null ? [] : [exposed];
}

export async function standingWarnings(app: Platform & WithSnapshots, { desired }: Deployment): Promise<string[]> {
  const active = desired === 'running' ? await activeSnapshot(app) : null;
  if (active === null) return [];
  const exposed = await exposureOf(app, active.server);
  return [...(exposed === null ? [] : [exposed]), ...driftWarnings(await readDrift(app), active.version)];
}

/** What is served changes in one place at a time; checks are over by then, so that stopping waits for none. */
export const inSwitch = <T>(app: Platform & WithDeployLock, work: () => Promise<T>): Promise<T> =>
  app.switch_lock(() => app.store.exclusive(work, 'switch'));

/** What is served when a deploy is asked for, or when its checks begin. */
export type ServedState = Pick<Deployment, 'desired' | 'active_version'>;

/**
 * Rejects where somebody stopped the server or served another version since. First in the transaction that serves another one: a switch
 * ends with its connection, and then another server may be at the same work.
 */
export async function refuseOvertaken(app: Platform, tx: Db, asked: ServedState): Promise<void> {
  await writeAlone(app.store, tx);
  const { desired, active_version } = await readDeployment(app, tx);
  if (asked.desired === 'running' && desired === 'stopped')
    throw new AppError('conflict', 'The server was stopped in the meantime. Deploy again to start it.');
  if (active_version !== asked.active_version)
    throw new AppError('conflict', `Version ${active_version} was put in service in the meantime. Read the changes again.`);
}

type DeployRequest = Pick<Input<'deploy.run'>, 'note' | 'allow' | 'checksum'>;

/** @param is the checksums of what would be deployed; the one that was read has to be among them. */
export function requireChecksum(wanted: string | undefined, is: Iterable<string>): void {
  if (wanted === undefined) return;
  for (const one of is) if (one === wanted) return;
  const detail = 'What would be deployed has changed since you read it. Read the changes again, then deploy.';
  throw new AppError('conflict', detail);
}

/** Freezes the working copy and serves it. A canary that runs keeps its callers. */
export async function deploy(
  context: Context<DeployApp>,
  wanted: DeployRequest,
  { desired }: Pick<Deployment, 'desired'>,
): Promise<Receipt> {
  const { app } = context;
  const started = performance.now();
  const { active_version } = await readDeployment(app);
  const checked = await checkDeploy(context, wanted);
  const { receipt } = await inSwitch(app, async () => {
    const warnings = [...checked.warnings, ...(await canaryWarnings(app))];
    const snapshot = await storeChecked(context, checked, wanted.note, { desired, active_version });
    return publish(app, snapshot, { changed: checked.changed, warnings, started });
  });
  const answer = await receipt();
  releaseTexts(app);
  return answer;
}

interface Checked {
  readonly prepared: PreparedCopy;
  readonly candidate: GateSubject;
  readonly active: StoredSnapshot | null;
  readonly changed: boolean;
  readonly warnings: readonly string[];
  readonly allowed: readonly GateName[];
}

async function storeChecked(
  context: Context<WithSources & WithSnapshots & WithWorkingCopy>,
  { prepared, candidate, active, changed, allowed }: Checked,
  note: string | null,
  asked: ServedState,
): Promise<StoredSnapshot> {
  if (active !== null && !changed) return resume(context, active, prepared, asked);
  return store(context, prepared, candidate, active, asked, { note, ...allowedBy(allowed) });
}

/** The working copy through the gates. */
async function checkDeploy(context: Context<DeployApp>, { allow, checksum }: DeployRequest): Promise<Checked> {
  const { app } = context;
  let found: () => Promise<void> = () => Promise.resolve();
  try {
    const [prepared, active] = await Promise.all([prepare(app), activeSnapshot(app)]);
    found = () => markServed(app, prepared, active);
    requireChecksum(checksum, checksumsOf(prepared));
    const candidate = toCandidate(app, prepared, active);
    const changed = active?.checksum !== prepared.tree.checksum;
    return { prepared, candidate, active, changed, ...(await runGates(GATES, context, candidate, active, allow)) };
  } catch (error) {
    // What is served stays, with what was found of it.
    await found();
    // Nothing was tried, and nothing is wrong with what is served.
    if (error instanceof AppError && error.code === 'conflict') throw error;
    const message =
      error instanceof AppError ? keptDetail(error) : 'The deploy failed because of an internal error. See the log.';
    await app.store.write((tx) => writeDeployment(app, tx, { last_error: message }));
    app.log.from('deploy').error('deploy refused', { reason: message });
    throw error;
  }
}

/** What drifted and goes on being served as it was prepared, as nothing of this is deployed. */
async function markServed(app: Platform, { drifted }: PreparedCopy, active: StoredSnapshot | null): Promise<void> {
  if (active === null || drifted.length === 0) return;
  const served = new Set(active.tree.leaves.map(({ hash }) => hash));
  const found = drifted.filter(({ hash }) => served.has(hash)).map(({ hash: _, ...item }) => item);
  await markDrift(app, active.version, found);
}

/** Hosts that come later are sent texts from the database: those of a first deploy would fill the memory. */
function releaseTexts({ snapshot_cache }: Platform & WithSnapshots): void {
  const { size } = snapshot_cache.texts;
  if (size >= KEPT_TEXTS) snapshot_cache.texts = new Map();
  collectAfter(size);
}

const KEPT_TEXTS = 500;

/** Of the working copy as it is stored, which the differences show, and as its databases describe it now, which is deployed. */
export function* checksumsOf({ stored, tree }: PreparedCopy): Iterable<string> {
  yield tree.checksum;
  yield stored();
}

/** What a deploy would answer; nothing is stored or sent. */
export async function rehearse(context: Context<DeployApp>, { allow, checksum }: DeployRequest): Promise<Receipt> {
  const { app } = context;
  const started = performance.now();
  const [prepared, state, active] = await Promise.all([prepare(app), readDeployment(app), activeSnapshot(app)]);
  requireChecksum(checksum, checksumsOf(prepared));
  const { warnings } = await runGates(REHEARSED, context, toCandidate(app, prepared, active), active, allow);
  const changed = active?.checksum !== prepared.tree.checksum;
  return {
    status: await statusOf(app, state),
    snapshot_version: state.active_version,
    checksum: prepared.tree.checksum,
    changed,
    plan: deployPlan('the working copy', changed, state),
    counts: countsOf(prepared.tree),
    warnings: [...warnings, ...(await canaryWarnings(app))],
    duration_ms: elapsed(started),
    hosts: [],
  };
}

/** The working copy, ready for the gates. */
export function toCandidate(
  app: Platform & WithSnapshots,
  { server, tree, problems, warnings, drifted, textOf }: PreparedCopy,
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
    version: null,
    problems,
    warnings,
    texts,
    drifted: async () => drifted,
    changes: () => changesInPages(active?.tree ?? null, tree, texts),
  };
}

async function store(
  context: Context<WithSources & WithSnapshots & WithWorkingCopy>,
  prepared: PreparedCopy,
  { server, tree }: GateSubject,
  active: StoredSnapshot | null,
  asked: ServedState,
  said_of: { readonly note: string | null; readonly allowed?: readonly GateName[] },
): Promise<StoredSnapshot> {
  const { app, actor } = context;
  const created_at = app.clock().toISOString();
  const by = authorOf(actor);
  const head = { checksum: tree.checksum, created_at, counts: countsOf(tree), tree, server };
  const storing = app.store.write(async (tx) => {
    await refuseOvertaken(app, tx, asked);
    const snapshot = await storeSnapshot(app, tx, { ...head, note: said_of.note, actor: by }, prepared.textOf);
    const { version, checksum } = snapshot;
    await storeArtifacts(app, tx, prepared);
    await Promise.all([
      writeDeployment(app, tx, { desired: 'running', active_version: version, deployed_at: created_at, last_error: null }),
      recordVersion(tx, context, version, { action: 'deploy', before: null, after: { version, checksum, ...said_of } }),
      emitEvent(app, 'deploy', { version, checksum, note: said_of.note, by: by.name }, tx, actor),
      pruneChanges(app.store, tx),
    ]);
    return snapshot;
  });
  const stored = await storing.catch(async (error: unknown) => {
    const found = await activeSnapshot(app).catch(() => null);
    if (found?.checksum !== tree.checksum || found.version <= (active?.version ?? 0)) throw error;
    // It was committed; the answer alone was lost with the connection.
    return found;
  });
  app.working_copy.copy?.state.forget(stored.tree.leaves);
  return cacheSnapshot(app, stored);
}

/** Notes who stopped the server or started it again; what it serves stays the same version. */
export async function recordSwitch(context: Context, tx: Db, status: 'running' | 'stopped'): Promise<void> {
  const { desired, active_version: version } = await readDeployment(context.app, tx);
  if (version === null || desired === status) return;
  await recordVersion(tx, context, version, { before: { version, status: desired }, after: { version, status } });
}

/** The same configuration again: a stopped server starts. */
async function resume(
  context: Context,
  active: StoredSnapshot,
  prepared: PreparedCopy,
  asked: ServedState,
): Promise<StoredSnapshot> {
  const { app } = context;
  await app.store.write(async (tx) => {
    await refuseOvertaken(app, tx, asked);
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
