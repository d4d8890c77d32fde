import type { Platform } from '#core/platform/platform.ts';
import { inArray } from 'drizzle-orm';
import type { TestedKind, TestOwner, TestResult } from '#core/contract/definitions/tests.ts';
import { classify } from '#core/lib/sql/classify.ts';
import { NO_CALLER } from '#core/query/values.ts';
import { wholeVariant } from '#core/lib/sql/bind.ts';
import { dialectNamed } from '#core/engines/index.ts';
import type { Context } from '#core/context/context.ts';
import { entityTable } from '#core/store/entity-table.ts';
import type { FrozenConnection, FrozenServer } from '#snapshots/format/format.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import type { Leaf } from '#snapshots/format/tree.ts';
import { fewAtATime } from '#core/lib/slices.ts';
import { createFrozenSources, type FrozenSources } from '#core/sources/frozen-sources.ts';
import { notTried } from '#core/definitions/checks/write-guard.ts';
import { toCaller } from '#core/query/pretended-caller.ts';
import { callTarget, type TestTarget } from './call-target.ts';
import { failuresOf } from './expectations.ts';
import { type TestVerdict, mayPretend, type TestRow } from '#core/definitions/tests.ts';

/** The configuration that tests run against: the working copy, a version, or the next deploy. */
export interface Tested {
  readonly leaves: readonly Leaf[];
  readonly server: FrozenServer;
  readonly texts: (leaves: readonly Leaf[]) => Promise<ReadonlyMap<string, string>>;
  /** Whether writing statements are run and rolled back. Otherwise their tests are skipped. */
  readonly writes: boolean;
  /** Why a definition of the working copy cannot be served, by its id. */
  readonly problemOf?: (id: string) => string | null;
}

/** Tests of reading statements that run at the same time. Those of writing statements run one after the other. */
const CONCURRENCY = 4;
/** A run ends after this time. The remaining tests are skipped. */
const RUN_TIMEOUT_MS = 60_000;

const notCalled = (status: TestVerdict['status'], reason: string): TestVerdict => ({
  status,
  ms: 0,
  rows: null,
  failures: [reason],
  error: null,
  sqlstate: null,
});
const skipped = (reason: string): TestVerdict => notCalled('skipped', reason);
export const NO_TIME = 'The run took too long, so this test was not reached.';
const WRITERS_ONLY =
  'Its statement writes, and is run and rolled back only for editors and for tokens with the scope write. In a proposal, it runs when an editor starts it.';
export const PEOPLE_ONLY = 'It runs as a caller, which only a signed-in person can start, not a token.';

/** Runs tests. @returns the results in the order of the rows. */
export async function runTests(context: Context, rows: readonly TestRow[], tested: Tested): Promise<TestResult[]> {
  const { app } = context;
  const sources = createFrozenSources(app);
  const signal = AbortSignal.any([
    AbortSignal.timeout(RUN_TIMEOUT_MS),
    ...(context.signal === undefined ? [] : [context.signal]),
  ]);
  const targets = await targetsOf(
    app,
    rows.map(({ owner }) => owner),
    tested,
  );
  const writes = ({ owner_id }: TestRow) => {
    const target = targets.get(owner_id);
    return target?.kind === 'tool' && target.entity.mode === 'write';
  };
  const verdicts = new Map<string, TestVerdict>();
  const runOne = async (row: TestRow) =>
    void verdicts.set(row.id, await runTest(context, row, targets.get(row.owner_id), tested, sources, signal));
  try {
    await fewAtATime(
      rows.filter((row) => !writes(row)),
      CONCURRENCY,
      runOne,
    );
    for (const row of rows.filter(writes)) await runOne(row);
  } finally {
    await sources.close();
  }
  return rows.map(({ id, name, owner }) => ({ id, name, owner, ...(verdicts.get(id) ?? skipped(NO_TIME)) }));
}

async function runTest(
  { app, actor, signal: disconnected }: Context,
  row: TestRow,
  target: TestTarget | undefined,
  { server, writes, problemOf }: Tested,
  sources: FrozenSources,
  signal: AbortSignal,
): Promise<TestVerdict> {
  if (row.caller !== null && !mayPretend(actor)) return skipped(PEOPLE_ONLY);
  if (target === undefined) {
    const problem = problemOf?.(row.owner_id) ?? null;
    const { kind } = row.owner;
    if (problem !== null) return notCalled('failed', `The ${kind} cannot be served: ${problem}`);
    return skipped(`The ${kind} is not served: it is disabled, on a disabled connection, or not in this version.`);
  }
  const reason = await skipReason(target, writes, sources);
  if (reason !== null) return skipped(reason);
  if (signal.aborted) return skipped(NO_TIME);
  const facts = {
    vars: server.global_variables,
    caller: row.caller === null ? NO_CALLER : toCaller(row.caller),
    call: { id: app.ids(), time: app.clock().getTime() },
  };
  const source = () =>
    target.kind === 'prompt' ? Promise.reject(new Error('A prompt has no source.')) : sources.of(target.connection);
  try {
    const called = await callTarget(target, row.arguments, { facts, source, keys: app.env.SVC_ENCRYPTION_KEY, signal });
    const failures = failuresOf(row.expect, called);
    const rows = called.rows?.length ?? null;
    const { code = null, sqlstate = null } = called.error ?? {};
    return { status: failures.length === 0 ? 'passed' : 'failed', ms: called.ms, rows, failures, error: code, sqlstate };
  } catch (error) {
    if (signal.aborted && disconnected?.aborted !== true) return skipped(NO_TIME);
    throw error;
  }
}

/** Why a writing statement is not run, as a sentence; null when it can be rolled back, or only reads. */
async function skipReason(target: TestTarget, writes: boolean, sources: FrozenSources): Promise<string | null> {
  if (target.kind !== 'tool' || target.entity.mode !== 'write') return null;
  if (!writes) return WRITERS_ONLY;
  const { statement } = target.entity;
  const refusal = notTried(await classify(statement, dialectNamed(statement.dialect)));
  if (refusal !== null) return refusal;
  try {
    const source = await sources.of(target.connection);
    if (source.cannotRollBack === undefined) return 'Sluice cannot roll back statements on this kind of database.';
    return await source.cannotRollBack(wholeVariant(statement, dialectNamed(statement.dialect)).text);
  } catch {
    // The call will report why the database is unreachable.
    return null;
  }
}

/** The served definitions of tests, by id. */
async function targetsOf(
  app: Platform,
  owners: readonly TestOwner[],
  { leaves, texts }: Tested,
): Promise<Map<string, TestTarget>> {
  const kind_of = new Map(owners.map((owner) => [owner.id, owner.kind]));
  const frozen = new Map<string, { readonly kind: TestedKind; readonly entity: TestTarget['entity'] }>();
  const take = async (some: readonly Leaf[]) => {
    const read = await texts(some);
    for (const { kind, hash } of some) {
      const entity = JSON.parse(read.get(hash) ?? '{}') as TestTarget['entity'];
      if (kind_of.get(entity.id) === kind) frozen.set(entity.id, { kind, entity });
    }
  };
  const named = await storedNames(app, kind_of);
  await take(leaves.filter(({ kind, name }) => named.has(`${kind}/${name}`)));
  // An earlier version may have it under another name.
  const missing = new Set([...kind_of].flatMap(([id, kind]) => (frozen.has(id) ? [] : [kind])));
  if (missing.size > 0) await take([...missing].flatMap((kind) => leavesOf(leaves, kind)));
  const connections = await connectionsOf(leaves, texts);
  const targets = new Map<string, TestTarget>();
  for (const [id, { kind, entity }] of frozen) {
    if (kind === 'prompt') targets.set(id, { kind, entity } as TestTarget);
    else {
      const connection = connections.get((entity as { readonly connection_id: string }).connection_id);
      if (connection !== undefined) targets.set(id, { kind, entity, connection } as TestTarget);
    }
  }
  return targets;
}

async function storedNames({ store }: Platform, kind_of: ReadonlyMap<string, TestedKind>): Promise<Set<string>> {
  const names = new Set<string>();
  for (const kind of new Set(kind_of.values())) {
    const table = entityTable(store, kind);
    const ids = [...kind_of].flatMap(([id, of]) => (of === kind ? [id] : []));
    const rows = await store.db.select({ name: table.name }).from(table).where(inArray(table.id, ids));
    for (const { name } of rows) names.add(`${kind}/${name}`);
  }
  return names;
}

async function connectionsOf(leaves: readonly Leaf[], texts: Tested['texts']): Promise<Map<string, FrozenConnection>> {
  const read = await texts(leavesOf(leaves, 'connection'));
  const found = [...read.values()].map((text) => JSON.parse(text) as FrozenConnection);
  return new Map(found.map((connection) => [connection.id, connection]));
}

export interface WithTestRuns {
  readonly test_runs: Map<string, number>;
}

export const createTestRuns = (): WithTestRuns => ({ test_runs: new Map() });
