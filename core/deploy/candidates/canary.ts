import type { DeployApp } from '#core/deploy/app.ts';
import type { Handlers, Context } from '#core/context/context.ts';
import { readDeployment, writeDeployment } from '#core/versions/deployment.ts';
import { refuseConcurrentSwitch, requireChecksum } from '#core/deploy/deploys.ts';
import { exclusively, inSwitch, inUrgentSwitch } from '#core/deploy/deploy-locks.ts';
import { sidesOf, NO_CALLS } from '#core/observe/canary-sides.ts';
import { toState, addCanary, endCanary, limitPassed } from './stored-canaries.ts';
import type { Input } from '#core/contract/index.ts';
import type { Platform } from '#core/platform/platform.ts';
import { AppError, invalidField } from '#core/errors.ts';
import { type CanaryRow, readCanary, runningCanary } from '#core/versions/deployment.ts';
import type { Db } from '#core/store/store.ts';
import { checkWorkingCopy, servedNow, find, storeCheckedCopy } from './candidates.ts';
import type { CanaryPlan } from '#core/contract/observe/canary-state.ts';
import type { Receipt } from '#core/contract/deploy/deploy.ts';
import { statusOf } from '#core/deploy/status.ts';
import { canaryPlan, deployPlan } from './stored-canaries.ts';
import { randomBytes } from 'node:crypto';
import { authorOf } from '#core/context/roles.ts';
import { publishSideSnapshots } from './side-snapshots.ts';
import type { WithSigning } from '#core/deploy/signing/sign.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { elapsed, publish } from '#core/deploy/publish.ts';
import { type StoredSnapshot, type WithSnapshots, cacheSnapshot, storeSnapshot } from '#core/versions/stored-snapshots.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import { storedSubject } from '#core/deploy/snapshots.ts';
import { refuseCandidate } from '#core/deploy/weaker.ts';
import { runGates, allowedBy, storedDetail } from '#core/deploy/gates/gate.ts';
import { DRY_RUN_GATES, GATES } from '#core/deploy/gates/index.ts';
import type { GateName } from '#core/contract/settings/deploy-gates.ts';
import { recordVersion } from '#core/records/history.ts';
import { emitEvent } from '#core/records/events.ts';
import { pruneChanges } from '#core/store/journal.ts';
import { readCandidate } from '#core/versions/stored-candidates.ts';
import { TURN_TAKEN } from '#core/store/turns.ts';
import { type Outcome, runEvery } from '#core/platform/run-every.ts';

/** How often a canary is checked. Counted calls also trigger a check. */
const CHECK_MS = 1_000;

const MINUTE_MS = 60_000;

/** A candidate that was created for a canary is removed with it. If the canary never starts, the candidate expires this much later. */
const SPARE_MS = 3_600_000;

export const canaryHandlers: Pick<Handlers<DeployApp>, 'deploy.promote' | 'deploy.abort'> = {
  'deploy.promote': (context, { canary, note, allow }) =>
    exclusively(
      context.app,
      async () => {
        const row = await requireRunning(context.app, canary);
        const reason = `Promoted by ${context.actor?.name ?? 'system'}.`;
        return promote(context, row, { note: note ?? row.note, allow, reason });
      },
      context,
    ),
  'deploy.abort': (context, { canary, reason }) =>
    inUrgentSwitch(
      context.app,
      async () => {
        const by = `Aborted by ${context.actor?.name ?? 'system'}${reason === null ? '.' : `: ${reason}`}`;
        const row = await requireRunning(context.app, canary);
        const sides = await sidesOf(context.app, row.id);
        return toState(await abort(context, row, by), sides);
      },
      context,
    ),
};

type CanaryRequest = Pick<Input<'deploy.run'>, 'note' | 'allow' | 'checksum'>;

/** @param read id of the canary that the caller has read, so that no other canary is ended by mistake. */
async function requireRunning(app: Platform, read: string | undefined): Promise<CanaryRow> {
  const row = await runningCanary(app);
  if (row !== null && (read === undefined || row.id === read)) return row;
  if (row !== null)
    throw new AppError('conflict', 'A different canary is running than the one that you read. Read it again first.');
  const ended = read === undefined ? undefined : await readCanary(app, read);
  throw new AppError(
    'conflict',
    ended === undefined ? 'No canary is running.' : `The canary has ended. ${ended.reason ?? ''}`.trim(),
  );
}

async function refuseSecond(app: Platform, tx?: Db): Promise<void> {
  if ((await runningCanary(app, tx)) !== null) {
    throw new AppError('conflict', 'A canary is running already. Promote or abort it first.');
  }
}

/** Checks whether a canary can start. @param candidate null for the working copy. */
async function checkStart(context: Context<DeployApp>, candidate: string | null, request: Omit<CanaryRequest, 'note'>) {
  await refuseSecond(context.app);
  const active = await servedNow(context.app);
  const checked =
    candidate === null ? await checkWorkingCopy(context, active, request) : await passGates(context, candidate, active, request);
  if (checked.checksum === active.checksum) {
    throw invalidField(
      'canary',
      'Nothing differs from the live version, so a canary has nothing to compare. Change something first.',
    );
  }
  return { active, checked };
}

export async function rehearseCanary(
  context: Context<DeployApp>,
  candidate: string | null,
  plan: CanaryPlan,
  { allow, checksum }: CanaryRequest,
): Promise<Receipt> {
  const { app } = context;
  const started = performance.now();
  const { active, checked } = await checkStart(context, candidate, { allow, checksum });
  return {
    ...receiptOf(app, checked, started),
    status: await statusOf(app, await readDeployment(app)),
    snapshot_version: active.version,
    changed: true,
    plan: canaryPlan(namedCopy(candidate), active.version, plan),
    warnings: [...checked.warnings],
    hosts: [],
  };
}

const namedCopy = (candidate: string | null): string => (candidate === null ? 'the working copy' : `the candidate ${candidate}`);

export async function startCanary(
  context: Context<DeployApp>,
  candidate: string | null,
  plan: CanaryPlan,
  { note, allow, checksum }: CanaryRequest,
): Promise<Receipt> {
  const { app, actor } = context;
  const started = performance.now();
  const { active, checked } = await checkStart(context, candidate, { allow, checksum });
  const head = candidate === null ? null : await find(app, candidate);
  const now = app.clock();
  const ends = now.getTime() + plan.minutes * MINUTE_MS;
  const expires_at = new Date(ends + SPARE_MS).toISOString();
  const candidate_id = 'id' in checked ? checked.id : (await storeCheckedCopy(context, checked, { note, expires_at }, null)).id;
  const row: CanaryRow = {
    id: app.ids(),
    candidate_id,
    own_candidate: candidate === null,
    checksum: checked.checksum,
    status: 'running',
    note: note ?? head?.note ?? null,
    allowed: [...checked.allowed],
    ...plan,
    seed: randomBytes(16).toString('hex'),
    base_version: active.version,
    version: null,
    actor: authorOf(actor),
    started_at: now.toISOString(),
    ends_at: new Date(ends).toISOString(),
    ended_at: null,
    reason: null,
  };
  const refused = await inSwitch(
    app,
    async () => {
      await app.store.write(async (tx) => {
        await refuseConcurrentSwitch(app, tx, { desired: 'running', active_version: active.version });
        await refuseSecond(app, tx);
        await addCanary(context, tx, row);
      });
      return publishSideSnapshots(app);
    },
    context,
  );
  app.log.from('deploy').info('canary started', { canary: row.id, percent: row.percent, minutes: row.minutes });
  return {
    ...receiptOf(app, checked, started),
    status: 'running',
    snapshot_version: active.version,
    changed: true,
    warnings: [...checked.warnings, ...refused.map((reason) => `A host could not load the canary: ${reason}`)],
    canary: toState(row, NO_CALLS),
  };
}

const receiptOf = (
  app: Platform & WithHosts,
  { checksum, counts }: Pick<StoredSnapshot, 'checksum' | 'counts'>,
  started: number,
) => ({
  checksum,
  counts,
  duration_ms: elapsed(started),
  hosts: app.hosts.list().map(({ id, error }) => ({ id, acked_ms: null, load_ms: null, error })),
});

/** Runs the gates on a stored candidate. */
async function passGates(
  context: Context<DeployApp>,
  id: string,
  active: StoredSnapshot,
  { allow, checksum }: Omit<CanaryRequest, 'note'>,
  gates = DRY_RUN_GATES,
) {
  const { app } = context;
  const snapshot = await readStored(app, id);
  requireChecksum(checksum, [snapshot.checksum]);
  await refuseCandidate(context, active, snapshot);
  const passed = await runGates(gates, context, storedSubject(app, snapshot, active), active, allow);
  const { checksum: is, counts } = snapshot;
  return { id, checksum: is, counts, ...passed };
}

export async function rehearseCandidate(context: Context<DeployApp>, id: string, request: CanaryRequest): Promise<Receipt> {
  const { app } = context;
  const started = performance.now();
  await refuseSecond(app);
  const [active, state] = [await servedNow(app), await readDeployment(app)];
  await find(app, id);
  const checked = await passGates(context, id, active, request);
  const changed = checked.checksum !== active.checksum;
  return {
    ...receiptOf(app, checked, started),
    status: await statusOf(app, state),
    snapshot_version: state.active_version,
    changed,
    plan: deployPlan(namedCopy(id), changed, state),
    warnings: checked.warnings,
    hosts: [],
  };
}

export async function deployCandidate(
  context: Context<DeployApp>,
  id: string,
  { note, ...request }: CanaryRequest,
): Promise<Receipt> {
  const { app } = context;
  await refuseSecond(app);
  const head = await find(app, id);
  return serve(context, id, { note: note ?? head.note, ...request }, null);
}

interface Promotion extends CanaryRequest {
  readonly reason: string;
}

async function promote(context: Context<DeployApp>, row: CanaryRow, { note, allow, reason }: Promotion): Promise<Receipt> {
  return serve(context, row.candidate_id, { note, allow: [...new Set([...row.allowed, ...allow])] }, { row, reason });
}

/** Serves a candidate to every caller, as the next version. @param end the canary that this ends. */
async function serve(
  context: Context<DeployApp>,
  id: string,
  { note, ...request }: CanaryRequest,
  end: { readonly row: CanaryRow; readonly reason: string } | null,
): Promise<Receipt> {
  const { app } = context;
  const started = performance.now();
  const active = await servedNow(app);
  const snapshot = await readStored(app, id);
  const { warnings, allowed } = await passGates(context, id, active, request, GATES);
  const changed = snapshot.checksum !== active.checksum;
  const { receipt } = await inSwitch(
    app,
    async () => {
      const served = await storeServed(context, snapshot, active, { id, note, allowed }, end);
      // The version is published before the canary ends. Otherwise its callers would get the old version in between.
      const undone =
        end === null || end.row.base_version === active.version
          ? []
          : [`Version ${active.version}, which was deployed while the canary ran, is replaced.`];
      return publish(app, served, { changed, warnings: [...warnings, ...undone], started });
    },
    context,
  );
  const answer = await receipt();
  if (end !== null) await publishSideSnapshots(app);
  return answer;
}

async function storeServed(
  context: Context<WithSources & WithSnapshots>,
  snapshot: StoredSnapshot,
  active: StoredSnapshot,
  { id, note, allowed }: { readonly id: string; readonly note: string | null; readonly allowed: readonly GateName[] },
  end: { readonly row: CanaryRow; readonly reason: string } | null,
): Promise<StoredSnapshot> {
  const { app, actor } = context;
  const changed = snapshot.checksum !== active.checksum;
  const deployed_at = app.clock().toISOString();
  const by = authorOf(actor);
  const served = await app.store.write(async (tx) => {
    const { newest_version } = await refuseConcurrentSwitch(app, tx, { desired: 'running', active_version: active.version });
    const { checksum, counts, tree, server } = snapshot;
    const fresh = { checksum, counts, tree, server, created_at: deployed_at, note, actor: by };
    const stored = changed ? await storeSnapshot(app, tx, fresh, () => undefined, newest_version) : active;
    const { version } = stored;
    if (changed) {
      await writeDeployment(app, tx, { desired: 'running', active_version: version, deployed_at, last_error: null });
      const after = { version, checksum, note, candidate: id, ...(end && { canary: end.row.id }), ...allowedBy(allowed) };
      await recordVersion(tx, context, version, { action: 'deploy', before: null, after });
      await emitEvent(app, 'deploy', { version, checksum, note, by: by.name }, tx, actor);
      await pruneChanges(app.store, tx);
    }
    if (end !== null) await endCanary(context, tx, end.row, { status: 'promoted', reason: end.reason, version });
    return stored;
  });
  cacheSnapshot(app, served);
  return served;
}

async function abort(
  context: Context<WithSources & WithHosts & WithSnapshots & WithSigning>,
  row: CanaryRow,
  reason: string,
): Promise<CanaryRow> {
  const { app } = context;
  const ended = await app.store.write((tx) => endCanary(context, tx, row, { status: 'aborted', reason }));
  app.log.from('deploy').warning('canary aborted', { canary: row.id, reason });
  await publishSideSnapshots(app);
  return ended;
}

async function readStored(app: Platform & WithSnapshots, id: string): Promise<StoredSnapshot> {
  const snapshot = await readCandidate(app, id);
  if (snapshot === null) throw new AppError('not_found', 'There is no candidate with this id. It may have expired.');
  return snapshot;
}

/** Promotes or aborts the canary automatically, on one server at a time. @returns a function that stops it. */
export function startCanaryWatch(app: DeployApp): () => void {
  const work = async (): Promise<Outcome> => {
    if ((await runningCanary(app)) === null) return 'idle';
    return watchCanary(app);
  };
  return runEvery(app, { every_ms: CHECK_MS, what: 'watching the canary', work, at_once: true, wake: 'canary' });
}

export async function watchCanary(app: DeployApp): Promise<void> {
  const first = await verdictOf(app);
  if (first === null) return;
  const context: Context<DeployApp> = { app, actor: CANARY_ACTOR, ip: null, user_agent: null, request_id: 'canary' };
  // Aborting does not wait for a running deploy.
  const turn = first.fault === null ? exclusively : inUrgentSwitch;
  const work = async () => {
    // Another server may have done it already.
    const verdict = await verdictOf(app);
    if (verdict === null) return;
    const { row, fault } = verdict;
    try {
      if (fault !== null) await abort(context, row, fault);
      else if (first.fault !== null) return;
      else await promote(context, row, { note: row.note, allow: [], reason: 'Promoted itself at its end.' });
    } catch (error) {
      // The next check tries again.
      if (!(error instanceof AppError) || error.code === 'unavailable' || error.reason === TURN_TAKEN) throw error;
      await abort(context, row, `Not promoted: ${storedDetail(error)}`);
    }
  };
  await turn(app, work, context);
}

const CANARY_ACTOR: Context['actor'] = { type: 'system', id: null, name: 'canary', scopes: ['read', 'write', 'deploy'] };

/** The next action for the running canary: abort it with `fault`, or promote it. Null when there is nothing to do. */
async function verdictOf(app: Platform): Promise<{ readonly row: CanaryRow; readonly fault: string | null } | null> {
  const row = await runningCanary(app);
  if (row === null) return null;
  const passed = limitPassed(row, await sidesOf(app, row.id));
  if (passed !== null) return { row, fault: passed };
  if (app.clock().toISOString() < row.ends_at) return null;
  const { active_version } = await readDeployment(app);
  if (active_version === row.base_version) return { row, fault: null };
  const fault = `Not promoted: version ${active_version} was deployed while it ran, and promoting it would undo that.`;
  return { row, fault };
}
