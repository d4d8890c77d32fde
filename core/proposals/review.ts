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
import { DRY_RUN_GATES } from '#core/deploy/gates/index.ts';
import { changesBetween, markSuperusers } from '#core/deploy/pending.ts';
import { readWorkingCopy } from '#core/versions/working-copy.ts';
import { readSettings } from '#core/settings/settings.ts';
import { mayPretend, withoutFinding } from '#core/definitions/tests.ts';
import { AppError } from '#core/errors.ts';
import type { Context, RunOperations } from '#core/context/context.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import type { Leaf } from '#snapshots/format/tree.ts';
import { aloneOf, changesAlone } from './alone.ts';
import { actorOf } from './author.ts';
import { openOverlay, type Overlay, stampOf } from './overlay.ts';
import { callOf } from './propose.ts';
import { recordedChanges, testChanges, unservedChanges } from './recorded.ts';
import { type OperationRow, type ProposalRow, toStep } from './rows.ts';

const MOST_REVIEWS = 20;
const NOTHING: Reviewed = { diff: [], findings: [], tests: [], test_changes: [] };

/** Which tests are run. The author of a proposal can change tests, so writing ones run only when an editor starts them. */
type Tried = 'reading' | 'all' | 'none';

/**
 * The changes that a proposal would cause now, with the findings of gates and tests. Computed again when it or the configuration
 * changed.
 */
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
  // Stores the review without awaiting anything first, so that two people who open it at the same time share one.
  const other = reviews.get(key);
  if (other !== undefined) return other;
  const review = reviewed(context, runner, row, operations, tried);
  reviews.set(key, review);
  review.catch(() => reviews.delete(key));
  for (const [oldest] of [...reviews].slice(0, -MOST_REVIEWS)) reviews.delete(oldest);
  return review;
}

/** The last review, or a new one without gates and tests. */
export async function lastReviewOf(
  context: Context<ProposalsApp>,
  runner: RunOperations<DeployApp>,
  row: ProposalRow,
  operations: readonly OperationRow[],
): Promise<Review> {
  return (await knownReview(context, row, 'reading')) ?? reviewed(context, runner, row, operations, 'none');
}

/** The changes of some operations of a proposal, without running gates and tests. */
export async function changesOf(
  context: Context<ProposalsApp>,
  runner: RunOperations<DeployApp>,
  row: ProposalRow,
  operations: readonly OperationRow[],
): Promise<Pick<Review, 'diff' | 'test_changes'>> {
  const { diff, test_changes } = await reviewed(context, runner, row, operations, 'none');
  return { diff, test_changes };
}

async function knownReview(context: Context<ProposalsApp>, row: ProposalRow, tried: Tried): Promise<Review | undefined> {
  const { reviews } = context.app.overlays;
  return reviews.get(await keyOf(context, row, 'all')) ?? reviews.get(await keyOf(context, row, tried));
}

/** Key of a cached review. Actors that cannot run tests with a caller have separate ones. */
const keyOf = async ({ app, actor }: Context, { id, version }: ProposalRow, tried: Tried): Promise<string> =>
  `${id} ${version} ${mayPretend(actor)} ${tried} ${await stampOf(app)}`;

async function reviewed(
  context: Context<ProposalsApp>,
  runner: RunOperations<DeployApp>,
  row: ProposalRow,
  operations: readonly OperationRow[],
  tried: Tried,
): Promise<Review> {
  const steps = operations.map((operation) => toStep(context.app, operation));
  const alone = aloneOf(steps);
  if (alone !== null) return { ...NOTHING, findings: [], diff: await changesAlone(context, alone), problem: null };
  const overlay = await openOverlay(context.app, row);
  try {
    const before = await frozenOf(overlay);
    await applyAll(overlay, runner, steps, { ...callOf(context), actor: await actorOf(context.app, row.author) });
    const { view } = await readWorkingCopy(overlay.app);
    const { tree, problems, warnings } = view.frozen();
    const texts = async (leaves: readonly Leaf[]) =>
      new Map(leaves.map(({ hash }) => [hash, view.textOf(hash) ?? before.texts.get(hash) ?? '']));
    const touched = new Set(operations.flatMap((one) => one.touched.map(({ entity_id }) => entity_id)));
    const connections = await overlay.app.store.db.select().from(overlay.app.store.tables.connections);
    const served = await servedConnections(context.app);
    // A connection is served from its first tool to its last. That alone does not change a connection that is served already.
    const stays = new Set(connections.flatMap(({ id, name }) => (touched.has(id) || !served.has(name) ? [] : [name])));
    const differing = (await changesBetween(before.active.tree, tree, texts)).filter(
      ({ entity_type, name, change }) => entity_type !== 'connection' || change === 'changed' || !stays.has(name),
    );
    const recorded = await recordedChanges(overlay, row.id);
    const changes = await markSuperusers(overlay.app, [...differing, ...unservedChanges(recorded, differing)]);
    const known = new Set(before.problems.map((problem) => canonical(problem)));
    const subject: GateSubject = {
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
    const findings = tried === 'none' ? [] : await findingsOf(context, overlay, subject, before.active);
    const tests = tried === 'none' ? [] : await testsOf(overlay);
    return { diff: changes, findings, tests, test_changes: testChanges(recorded), problem: null };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'internal') throw error;
    return { ...NOTHING, findings: [], problem: error.detail };
  } finally {
    await overlay.close();
  }
}

/** Names of the connections that are served now. */
async function servedConnections(app: Platform & WithSnapshots): Promise<ReadonlySet<string>> {
  const active = await activeSnapshot(app);
  return new Set(leavesOf(active?.tree.leaves ?? [], 'connection').map(({ name }) => name));
}

/**
 * The working copy before the proposal. Gates compare with it instead of the active version, so that they check only the
 * proposal.
 */
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
  };
  return { active, texts, problems: [...problems], warnings: [...warnings] };
}

const ONLY_PEOPLE_READ_WHY = 'It failed. Only signed-in people can read why.';

/** The stored review for a token, without results of tests that ran as a caller. */
export const withoutFindings = <T extends Reviewed>(seen: T): T => ({
  ...seen,
  tests: seen.tests.map((result) => withoutFinding(result, ONLY_PEOPLE_READ_WHY)),
  findings: seen.findings.map((found) =>
    found.gate === 'tests'
      ? { ...found, message: `A test of ${found.field ?? 'it'} failed. Only signed-in people can read why.` }
      : found,
  ),
});

async function findingsOf(
  context: Context<ProposalsApp>,
  { app }: Overlay,
  subject: GateSubject,
  active: StoredSnapshot,
): Promise<ProposalFinding[]> {
  const { settings } = await readSettings(app);
  const modes: Readonly<Record<string, string>> = settings.deploy_gates;
  const same_server = canonical(subject.server) === canonical(active.server);
  const found: ProposalFinding[] = [];
  for (const gate of DRY_RUN_GATES) {
    const of_installation = gate.of_installation === true;
    if (modes[gate.name] === 'off' || (of_installation && same_server)) continue;
    const inside = of_installation ? context : { ...context, app };
    for (const one of await gate.run(inside, subject, active, settings)) found.push(toFinding(gate.name, modes[gate.name], one));
  }
  return [...new Map(found.map((one) => [`${one.gate} ${one.message}`, one])).values()];
}

const toFinding = (gate: string, mode: string | undefined, { message, refusal, harmless, field }: Finding): ProposalFinding => ({
  gate,
  message,
  field: field ?? null,
  blocks: refusal !== undefined || (mode === 'block' && harmless !== true),
});

/** The results that the gate of the tests has stored. */
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
