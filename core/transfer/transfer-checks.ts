import type { WithVersions } from '#core/versions/versions.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import { type WithLint, lintLeaves, rulesOff } from '#core/definitions/lint/lint-index.ts';
import { type WithSnapshots, textsIn } from '#core/versions/stored-snapshots.ts';
import { readAll, readWorkingCopy } from '#core/versions/working-copy.ts';
import { eq } from 'drizzle-orm';
import { TESTED_KINDS } from '#core/contract/definitions/tests.ts';
import type { ImportChecks } from '#core/contract/transfer.ts';
import { readSettings } from '#core/settings/settings.ts';
import { runTests } from '#core/definitions/tests/run-tests.ts';
import { tallyOf } from '#core/definitions/tests/test-handlers.ts';
import { mayTryWrites, shownResults, type TestRow } from '#core/definitions/tests.ts';
import { subjectOf } from '#core/contract/entities.ts';
import type { Context } from '#core/context/context.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import type { FrozenView } from '#snapshots/freeze/freeze.ts';
import { differingIn, type Leaf } from '#snapshots/format/tree.ts';

/** The configuration after an import. */
export interface Planned {
  readonly view: FrozenView;
  readonly tests: readonly TestRow[];
}

/** @param inside the transaction of a dry run, after all writes. */
export async function readPlanned({ app }: Context): Promise<Planned> {
  const { db, tables } = app.store;
  const copy = await readAll(app, db);
  const tests = await db.select().from(tables.tests).where(eq(tables.tests.enabled, true)).orderBy(tables.tests.name);
  return { view: copy.state.view(), tests };
}

/** Lint findings and test results for the changes of an import. Databases are queried after the transaction has ended. */
export async function checkPlanned(
  context: Context<WithSources & WithLint & WithVersions>,
  { view, tests }: Planned,
): Promise<ImportChecks> {
  const { app } = context;
  const { view: stored } = await readWorkingCopy(app);
  const { tree, problems } = view.frozen();
  const { now } = differingIn(stored.frozen().tree, tree);
  const texts = textsIn(app, view.textOf);
  const findings = await lintLeaves(app, tree, now, texts, await rulesOff(app));
  const concerned = await concernedTests(app, { view, tests }, stored, now, texts);
  const faults = new Map(view.outcomes.flatMap(({ id, problem }) => (problem === null ? [] : [[id, problem] as const])));
  const results = await runTests(context, concerned, {
    leaves: tree.leaves,
    server: view.server,
    texts,
    writes: mayTryWrites(context.actor),
    problemOf: (id) => faults.get(id) ?? null,
  });
  const names = new Map(view.outcomes.map(({ id, name }) => [id, name]));
  const { deploy_gates } = (await readSettings(app)).settings;
  return {
    findings: [...findings],
    problems: problems.map(({ entity_type, name, message }) => `${subjectOf(entity_type, name)}: ${message}`),
    tests: {
      ...tallyOf(results),
      results: shownResults(context.actor, concerned, results).map(({ owner, ...result }) => ({
        ...result,
        owner: { ...owner, name: names.get(owner.id) ?? '' },
      })),
    },
    blocking: [
      ...(deploy_gates.lint === 'block' && findings.some(({ severity }) => severity !== 'info') ? (['lint'] as const) : []),
      ...(deploy_gates.tests === 'block' && results.some(({ status }) => status === 'failed') ? (['tests'] as const) : []),
    ],
  };
}

/** Enabled tests that would change, and those of definitions that would change or depend on a change. */
async function concernedTests(
  app: Context<WithSources & WithSnapshots>['app'],
  { view, tests }: Planned,
  stored: FrozenView,
  now: readonly Leaf[],
  texts: ReturnType<typeof textsIn>,
): Promise<readonly TestRow[]> {
  if (tests.length === 0) return [];
  if (canonical(view.server.global_variables) !== canonical(stored.server.global_variables)) return tests;
  const read = await texts(now.filter(({ kind }) => kind === 'connection' || TESTED_KINDS.some((one) => one === kind)));
  const changed = new Set([...read.values()].map((text) => (JSON.parse(text) as { readonly id: string }).id));
  for (const { id, connection_id } of view.outcomes) if (connection_id !== null && changed.has(connection_id)) changed.add(id);
  const before = await app.store.db.select().from(app.store.tables.tests);
  const versions = new Map(before.map(({ id, version }) => [id, version]));
  return tests.filter(({ id, version, owner_id }) => changed.has(owner_id) || versions.get(id) !== version);
}
