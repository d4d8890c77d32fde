import type { DeployApp } from '#core/deploy/app.ts';
import { type ProposalsApp, applyAll, type Review } from './overlays.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { WithSnapshots, StoredSnapshot } from '#core/versions/stored-snapshots.ts';
import { inArray } from 'drizzle-orm';
import type { TestResult } from '#core/contract/definitions/tests.ts';
import type { ProposalFinding, Reviewed } from '#core/contract/proposals.ts';
import { activeSnapshot } from '#core/versions/deployment.ts';
import { countsOf } from '#core/deploy/deploys.ts';
import type { GateSubject, Finding } from '#core/deploy/gates/gate.ts';
import { REHEARSED } from '#core/deploy/gates/index.ts';
import { changesBetween, markSuperusers } from '#core/deploy/pending.ts';
import { readWorkingCopy } from '#core/versions/working-copy.ts';
import { readSettings } from '#core/settings/settings.ts';
import { mayPretend, withoutFinding } from '#core/definitions/tests.ts';
import { AppError } from '#core/errors.ts';
import type { Context, RunOperations } from '#core/context/context.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import type { Leaf } from '#snapshots/format/tree.ts';
import { openOverlay, type Overlay, stampOf } from './overlay.ts';
import { callOf } from './propose.ts';
import { recordedChanges, testChanges, unservedChanges } from './recorded.ts';
import { type OperationRow, type ProposalRow, toStep } from './rows.ts';

const MOST_REVIEWS = 20;
const NOTHING: Reviewed = { diff: [], findings: [], tests: [], test_changes: [] };

/** Statements of tests, written by whoever proposes: those that write run only when an editor asks for it. */
type Tried = 'reading' | 'all' | 'none';

/** What a proposal would change now, with what gates and tests say. Worked out again when it or the configuration changed. */
export async function reviewOf(
  context: Context<ProposalsApp>,
  runner: RunOperations<DeployApp>,
  row: ProposalRow,
  operations: readonly OperationRow[],
  tried: 'reading' | 'all' = 'reading',
): Promise<Review> {
  const { reviews } = context.app.overlays;
  const known = await knownReview(context, row, tried);
  if (known !== undefined) return known;
  const key = await keyOf(context, row, tried);
  // Between these lines nothing waits: two people who open it at once see one review.
  const other = reviews.get(key);
  if (other !== undefined) return other;
  const review = reviewed(context, runner, row, operations, tried);
  reviews.set(key, review);
  review.catch(() => reviews.delete(key));
  for (const [oldest] of [...reviews].slice(0, -MOST_REVIEWS)) reviews.delete(oldest);
  return review;
}

/** The same as it was seen last, else without asking gates and tests. */
export async function lastReviewOf(
  context: Context<ProposalsApp>,
  runner: RunOperations<DeployApp>,
  row: ProposalRow,
  operations: readonly OperationRow[],
): Promise<Review> {
  return (await knownReview(context, row, 'reading')) ?? reviewed(context, runner, row, operations, 'none');
}

async function knownReview(context: Context<ProposalsApp>, row: ProposalRow, tried: Tried): Promise<Review | undefined> {
  const { reviews } = context.app.overlays;
  return reviews.get(await keyOf(context, row, 'all')) ?? reviews.get(await keyOf(context, row, tried));
}

/** Who may not run a test as somebody sees a review without it. */
const keyOf = async ({ app, actor }: Context, { id, version }: ProposalRow, tried: Tried): Promise<string> =>
  `${id} ${version} ${mayPretend(actor)} ${tried} ${await stampOf(app)}`;

async function reviewed(
  context: Context<ProposalsApp>,
  runner: RunOperations<DeployApp>,
  row: ProposalRow,
  operations: readonly OperationRow[],
  tried: Tried,
): Promise<Review> {
  const overlay = await openOverlay(context.app, row);
  try {
    const before = await frozenOf(overlay);
    const steps = operations.map((operation) => toStep(context.app, operation));
    await applyAll(overlay, runner, steps, { ...callOf(context), actor: { ...row.author, scopes: ['propose'] } });
    const { view } = await readWorkingCopy(overlay.app);
    const { tree, problems, warnings } = view.frozen();
    const texts = async (leaves: readonly Leaf[]) =>
      new Map(leaves.map(({ hash }) => [hash, view.textOf(hash) ?? before.texts.get(hash) ?? '']));
    const touched = new Set(operations.flatMap((one) => one.touched.map(({ entity_id }) => entity_id)));
    const connections = await overlay.app.store.db.select().from(overlay.app.store.tables.connections);
    const served = await servedConnections(context.app);
    // A connection comes with its first tool and goes with its last: that is no change of one that is served already.
    const stays = new Set(connections.flatMap(({ id, name }) => (touched.has(id) || !served.has(name) ? [] : [name])));
    const differing = (await changesBetween(before.active.tree, tree, texts)).filter(
      ({ entity_type, name, change }) => entity_type !== 'connection' || change === 'changed' || !stays.has(name),
    );
    const recorded = await recordedChanges(overlay, row.id);
    const changes = await markSuperusers(overlay.app, [...differing, ...unservedChanges(recorded, differing)]);
    const known = new Set(before.problems.map((problem) => canonical(problem)));
    const candidate: GateSubject = {
      tree,
      server: view.server,
      version: null,
      proposed: { writes: tried === 'all' },
      texts,
      problems: problems.filter((problem) => !known.has(canonical(problem))),
      warnings: warnings.filter((warning) => !before.warnings.includes(warning)),
      changes: () => [changes],
      drifted: async () => [],
    };
    const findings = tried === 'none' ? [] : await findingsOf(context, overlay, candidate, before.active);
    const tests = tried === 'none' ? [] : await testsOf(overlay);
    return { diff: changes, findings, tests, test_changes: testChanges(recorded), problem: null };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'internal') throw error;
    return { ...NOTHING, findings: [], problem: error.detail };
  } finally {
    await overlay.close();
  }
}

/** Names of the connections that callers reach now. */
async function servedConnections(app: Platform & WithSnapshots): Promise<ReadonlySet<string>> {
  const active = await activeSnapshot(app);
  return new Set(leavesOf(active?.tree.leaves ?? [], 'connection').map(({ name }) => name));
}

/** The working copy before the proposal, in the place of what is deployed: the gates say what the proposal alone would do. */
async function frozenOf({ app }: Overlay) {
  const { view } = await readWorkingCopy(app);
  const { tree, problems, warnings } = view.frozen();
  const { server } = view;
  const texts = new Map(tree.leaves.map(({ hash }) => [hash, view.textOf(hash) ?? '']));
  const active: StoredSnapshot = {
    version: 0,
    checksum: tree.checksum,
    created_at: '',
    counts: countsOf(tree),
    tree,
    server,
    branched: false,
  };
  return { active, texts, problems: [...problems], warnings: [...warnings] };
}

const ONLY_PEOPLE_READ_WHY = 'It failed. Only signed-in people can read why.';

/** What reviewers saw, for a token: their tests ran as the callers that they name. */
export const withoutFindings = <T extends Reviewed>(seen: T): T => ({
  ...seen,
  tests: seen.tests.map((result) => withoutFinding(result, ONLY_PEOPLE_READ_WHY)),
  findings: seen.findings.map((found) =>
    found.gate === 'tests'
      ? { ...found, message: `A test of ${found.field ?? 'it'} failed. Only signed-in people can read why.` }
      : found,
  ),
});

/** They look at who may call, which the copy does not have. */
const OF_INSTALLATION: readonly string[] = ['access', 'sign-in', 'exposure', 'listener', 'credentials'];

async function findingsOf(
  context: Context<ProposalsApp>,
  { app }: Overlay,
  candidate: GateSubject,
  active: StoredSnapshot,
): Promise<ProposalFinding[]> {
  const { deploy_gates } = (await readSettings(app)).settings;
  const modes: Readonly<Record<string, string>> = deploy_gates;
  const same_server = canonical(candidate.server) === canonical(active.server);
  const found: ProposalFinding[] = [];
  for (const gate of REHEARSED) {
    const of_installation = OF_INSTALLATION.includes(gate.name);
    if (modes[gate.name] === 'off' || (of_installation && same_server)) continue;
    const inside = of_installation ? context : { ...context, app };
    for (const one of await gate.run(inside, candidate, active)) found.push(toFinding(gate.name, modes[gate.name], one));
  }
  return [...new Map(found.map((one) => [`${one.gate} ${one.message}`, one])).values()];
}

const toFinding = (gate: string, mode: string | undefined, { message, refusal, harmless, field }: Finding): ProposalFinding => ({
  gate,
  message,
  field: field ?? null,
  blocks: refusal !== undefined || (mode === 'block' && harmless !== true),
});

/** What the gate of the tests kept of them. */
async function testsOf({ app }: Overlay): Promise<TestResult[]> {
  const { test_results, tests } = app.store.tables;
  const results = await app.store.db.select().from(test_results);
  const ids = [...new Set(results.map(({ test_id }) => test_id))];
  if (ids.length === 0) return [];
  const rows = await app.store.db.select().from(tests).where(inArray(tests.id, ids));
  const last = new Map(results.map((result) => [result.test_id, result]));
  return rows
    .toSorted((a, b) => a.name.localeCompare(b.name))
    .flatMap(({ id, name, owner }) => {
      const result = last.get(id);
      if (result === undefined) return [];
      const { status, ms, rows: found, failures, error, sqlstate } = result;
      return [{ id, name, owner, status, ms, rows: found, failures, error, sqlstate }];
    });
}
