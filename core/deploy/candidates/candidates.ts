import type { DeployApp } from '#core/deploy/app.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { WithSnapshots, StoredSnapshot } from '#core/versions/stored-snapshots.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import { type WithDeployLock, exclusively } from '#core/deploy/deploy-locks.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { runEvery } from '#core/platform/run-every.ts';
import { type Candidate, MOST_CANDIDATES } from '#core/contract/deploy/candidates.ts';
import type { Counts } from '#core/contract/deploy/deploy.ts';
import type { Input } from '#core/contract/index.ts';
import type { GateName } from '#core/contract/settings/deploy-gates.ts';
import { AppError } from '#core/errors.ts';
import { authorOf } from '#core/context/roles.ts';
import { digestOf, randomToken, shownPrefix } from '#core/lib/random-token.ts';
import { recordHistory } from '#core/records/history.ts';
import type { RequestContext, Context, Handlers } from '#core/context/context.ts';
import { activeSnapshot, readDeployment } from '#core/versions/deployment.ts';
import { checksumsOf, countsOf, requireChecksum, toGateSubject } from '#core/deploy/deploys.ts';
import { runGates, allowedBy } from '../gates/gate.ts';
import { DRY_RUN_GATES } from '../gates/index.ts';
import { prepareWorkingCopy, type PreparedCopy } from '../prepare.ts';
import { mcpUrl } from '#core/settings/public-urls.ts';
import type { WithSigning } from '#core/deploy/signing/sign.ts';
import { publishSideSnapshots } from './side-snapshots.ts';
import { issuerExpiry, issuerHolds, refuseIssuer } from './issuer.ts';
import { runningCanary } from '#core/versions/deployment.ts';
import {
  candidateHeads,
  type CandidateHead,
  countShown,
  removeCandidate,
  storeCandidate,
} from '#core/versions/stored-candidates.ts';

const TOKEN_PREFIX = 'svc_cand_';
/** Sluice removes expired candidates without a request. */
const CLEANUP: RequestContext = { actor: null, ip: null, user_agent: null, request_id: 'candidates' };
const HOUR_MS = 3_600_000;
/** How often expired candidates are removed. Hosts stop serving them on time without that. */
const CLEANUP_MS = 10_000;

export const candidateHandlers: Pick<Handlers<DeployApp>, Extract<keyof Handlers<DeployApp>, `candidates.${string}`>> = {
  'candidates.create': (context, input) => exclusively(context.app, () => create(context, input), context),
  'candidates.list': async ({ app }) => {
    const url = await urlFor(app);
    const items = (await shown(app)).map((head) => toRecord(url, head));
    return { items, total: items.length };
  },
  'candidates.get': async ({ app }, { id }) => toRecord(await urlFor(app), await find(app, id)),
  'candidates.delete': (context, { id }) =>
    exclusively(
      context.app,
      async () => {
        const head = await find(context.app, id);
        if ((await runningCanary(context.app))?.candidate_id === id) {
          throw new AppError('conflict', 'The running canary serves this candidate. Promote or abort it first.');
        }
        await remove(context, head);
        await publishSideSnapshots(context.app);
        return {};
      },
      context,
    ),
};

async function create(context: Context<DeployApp>, { note, hours, allow }: Input<'candidates.create'>) {
  const { app, actor } = context;
  refuseIssuer(actor);
  const active = await servedNow(app);
  await removeExpired(app);
  if ((await countShown(app, app.store.db)) >= MOST_CANDIDATES) {
    throw new AppError('conflict', `There are ${MOST_CANDIDATES} candidates already. Delete one first.`);
  }
  const token = randomToken(TOKEN_PREFIX);
  const requested_end = new Date(app.clock().getTime() + hours * HOUR_MS).toISOString();
  const issuer_ends = await issuerExpiry(app, actor);
  const expires_at = issuer_ends !== null && issuer_ends < requested_end ? issuer_ends : requested_end;
  const checked = await checkWorkingCopy(context, active, { allow });
  const url = await urlFor(app);
  const head = await storeCheckedCopy(context, checked, { note, expires_at }, token);
  const refused = await publishSideSnapshots(app);
  const warnings = [...checked.warnings, ...refused.map((reason) => `A host could not load the candidate: ${reason}`)];
  app.log.from('deploy').info('candidate created', { candidate: head.id, expires_at });
  return { ...toRecord(url, head), token, warnings };
}

/** The active version. Throws `conflict` when no candidate can be served beside it. */
export async function servedNow(app: Platform & WithSnapshots): Promise<StoredSnapshot> {
  const state = await readDeployment(app);
  const active = state.desired === 'running' ? await activeSnapshot(app, state) : null;
  if (active === null) {
    throw new AppError('conflict', 'Nothing is served now, and a candidate is served beside the live version. Deploy first.');
  }
  if (active.server.transport === 'stdio') {
    const detail =
      'The live version uses standard input and output, so there is no URL for a candidate and no choice of callers.';
    throw new AppError('conflict', detail);
  }
  return active;
}

/** A working copy that passed the gates and is not stored yet. */
export interface CheckedCopy {
  readonly prepared: PreparedCopy;
  readonly checksum: string;
  readonly counts: Counts;
  readonly warnings: readonly string[];
  readonly allowed: readonly GateName[];
}

/** Runs the gates on the working copy. */
export async function checkWorkingCopy(
  context: Context<DeployApp>,
  active: StoredSnapshot,
  { allow, checksum }: Pick<Input<'deploy.run'>, 'allow' | 'checksum'>,
): Promise<CheckedCopy> {
  const { app } = context;
  const prepared = await prepareWorkingCopy(app);
  requireChecksum(checksum, checksumsOf(prepared));
  const passed = await runGates(DRY_RUN_GATES, context, toGateSubject(app, prepared, active), active, allow);
  return { prepared, checksum: prepared.tree.checksum, counts: countsOf(prepared.tree), ...passed };
}

/** Stores a checked working copy as a candidate. @param token for its address; null when it has no address. */
export async function storeCheckedCopy(
  context: Context<WithSources & WithSnapshots>,
  { prepared, counts, allowed }: CheckedCopy,
  { note, expires_at }: { readonly note: string | null; readonly expires_at: string },
  token: string | null,
): Promise<CandidateHead> {
  const { app, actor } = context;
  const id = app.ids();
  const { tree } = prepared;
  const row = {
    id,
    counts,
    note,
    allowed: [...allowed],
    actor: authorOf(actor),
    created_at: app.clock().toISOString(),
    expires_at,
    digest: token === null ? null : digestOf(token),
    token_prefix: token === null ? null : shownPrefix(token),
  };
  await app.store.write(async (tx) => {
    await storeCandidate(app, tx, row, tree, prepared.textOf);
    if (token === null) return;
    const after = { candidate: id, checksum: tree.checksum, expires_at, note, ...allowedBy(allowed) };
    await recordHistory(tx, context, { ...named(id), before: null, after });
  });
  return { ...row, checksum: tree.checksum };
}

const named = (id: string) => ({ entity_type: 'snapshot', entity_id: id, entity_name: `candidate ${id}` }) as const;

async function remove(
  context: Context<WithSources & WithSnapshots>,
  { id, checksum, expires_at, note }: CandidateHead,
): Promise<void> {
  const { app } = context;
  await app.store.write(async (tx) => {
    await removeCandidate(app, tx, id);
    const before = { candidate: id, checksum, expires_at, note };
    await recordHistory(tx, context, { ...named(id), before, after: null });
  });
  app.log.from('deploy').info('candidate deleted', { candidate: id });
}

/**
 * Removes candidates when they expire, and when their creator loses the credential or the rights. @returns a function that stops
 * it.
 */
export function startCandidateCleanup(app: WithSources & WithDeployLock & WithHosts & WithSnapshots & WithSigning): () => void {
  const work = async (): Promise<void> => {
    if ((await ended(app)).length === 0) return;
    await exclusively(app, async () => {
      if (await removeExpired(app)) await publishSideSnapshots(app);
    });
  };
  return runEvery(app, { every_ms: CLEANUP_MS, what: 'removing expired candidates', work, at_once: true, wake: 'identity' });
}

async function removeExpired(app: WithSources & WithSnapshots): Promise<boolean> {
  const context = { ...CLEANUP, app };
  const over = await ended(app);
  for (const head of over) await remove(context, head);
  return over.length > 0;
}

async function ended(app: Platform): Promise<CandidateHead[]> {
  const now = app.clock().toISOString();
  const over: CandidateHead[] = [];
  for (const head of await candidateHeads(app)) {
    if (head.expires_at <= now || (head.digest !== null && !(await issuerHolds(app, head.actor)))) over.push(head);
  }
  if (over.length === 0) return over;
  // The candidate of a running canary has lost its address, and stays until the canary ends.
  const in_use = (await runningCanary(app))?.candidate_id;
  return over.filter(({ id }) => id !== in_use);
}

/** Candidates that have an address and have not expired. */
async function shown(app: Platform): Promise<CandidateHead[]> {
  const now = app.clock().toISOString();
  return (await candidateHeads(app)).filter(({ digest, expires_at }) => digest !== null && expires_at > now);
}

export async function find(app: Platform, id: string): Promise<CandidateHead> {
  const found = (await shown(app)).find((head) => head.id === id);
  if (found === undefined) throw new AppError('not_found', 'There is no candidate with this id. It may have expired.');
  return found;
}

/** The common prefix of the addresses of candidates. */
async function urlFor(app: Platform & WithSnapshots): Promise<string> {
  const port = (await activeSnapshot(app))?.server.port ?? app.env.SVC_FASTMCP_PORT;
  return `${await mcpUrl(app, port)}/candidate/`;
}

function toRecord(url: string, head: CandidateHead): Candidate {
  const { id, checksum, token_prefix, note, counts, actor, created_at, expires_at } = head;
  return {
    candidate: id,
    checksum,
    url: `${url}${id}`,
    token_prefix: token_prefix ?? '',
    note,
    counts,
    actor,
    created_at,
    expires_at,
  };
}
