import type { WithVersions } from '#core/versions/versions.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import { type WithSnapshots, readSnapshot, type StoredSnapshot, textsOf } from '#core/versions/stored-snapshots.ts';
import type { WithTestRuns } from '#core/definitions/tests/run-tests.ts';
import { readWorkingCopy } from '#core/versions/working-copy.ts';
import type { Platform } from '#core/platform/platform.ts';
import { and, eq, inArray } from 'drizzle-orm';
import { type Against, type TestResult } from '#core/contract/definitions/tests.ts';
import { activeSnapshot } from '#core/versions/deployment.ts';
import { AppError, invalidField } from '#core/errors.ts';
import { inShare } from '#core/platform/in-share.ts';
import type { Handlers } from '#core/context/context.ts';
import type { Input } from '#core/contract/index.ts';
import type { Leaf } from '#snapshots/format/tree.ts';
import { runTests, type Tested } from './run-tests.ts';
import { storeResults } from './store-results.ts';
import { resultsOf } from '#core/definitions/tests.ts';
import { mayTryWrites, shownResults, shownTo, test, type TestRow } from '#core/definitions/tests.ts';

export const testHandlers: Pick<
  Handlers<WithSources & WithTestRuns & WithVersions>,
  Extract<keyof Handlers<WithSources & WithTestRuns & WithVersions>, `tests.${string}`>
> = {
  ...test.handlers,
  'tests.run': async (context, input) => {
    const { app, actor } = context;
    const rows = await selectTests(app, input);
    return inShare(app.test_runs, actor?.id ?? '', RUNS, async () => {
      const tested = await testedAs(app, input.against);
      const results = await runTests(context, rows, { ...tested, writes: mayTryWrites(actor) });
      await storeResults(context, results, String(input.against));
      return { ...tallyOf(results), results: shownResults(actor, rows, results) };
    });
  },
  'tests.results': async (context, { id }) => {
    const row = await test.noun.get(context, id);
    const items = (await resultsOf(context.app, id)).map((result) => shownTo(context.actor, row, result));
    return { items, total: items.length };
  },
};

/** Runs of one actor at the same time. Each sends statements to the databases. */
const RUNS = { most: 3, sentence: 'Three runs of tests that you started are under way. Wait for one of them to finish.' };

export function tallyOf(results: readonly TestResult[]) {
  const of = (status: TestResult['status']) => results.filter((result) => result.status === status).length;
  return { passed: of('passed'), failed: of('failed'), skipped: of('skipped') };
}

/** Tests in one run that names none. */
const MAX_TESTS = 500;

/** The named tests, including disabled ones, or all enabled ones. */
async function selectTests({ store }: Platform, { ids, owner }: Input<'tests.run'>): Promise<TestRow[]> {
  const { tests } = store.tables;
  if (ids !== undefined && owner !== undefined) throw invalidField('owner', 'Send ids or owner, not both.');
  if (ids === undefined) {
    const where = and(eq(tests.enabled, true), owner === undefined ? undefined : eq(tests.owner_id, owner.id));
    const total = await store.db.$count(tests, where);
    if (total > MAX_TESTS)
      throw new AppError('invalid', `There are ${total} tests, more than ${MAX_TESTS}. Run those of one owner at a time.`);
    return store.db.select().from(tests).where(where).orderBy(tests.name);
  }
  const rows = await store.db.select().from(tests).where(inArray(tests.id, ids));
  return [...new Set(ids)].map((id) => {
    const row = rows.find((one) => one.id === id);
    if (row === undefined) throw invalidField(`ids.${ids.indexOf(id)}`, `ids.${ids.indexOf(id)} does not match any test.`);
    return row;
  });
}

type Stored = Omit<Tested, 'writes'>;

async function testedAs(app: Platform & WithVersions, against: Against): Promise<Stored> {
  if (against === 'draft') return workingCopy(app);
  const snapshot = against === 'live' ? await activeSnapshot(app) : await readSnapshot(app, against);
  if (snapshot !== null) return testedVersion(app, snapshot);
  if (against === 'live') throw new AppError('conflict', 'Nothing is deployed. Deploy first, or run against draft.');
  throw new AppError('not_found', `There is no snapshot ${against}.`);
}

const testedVersion = (app: Platform & WithSnapshots, { tree, server }: StoredSnapshot): Stored => ({
  leaves: tree.leaves,
  server,
  texts: (leaves) => textsOf(app, leaves),
});

async function workingCopy(app: Platform & WithVersions): Promise<Stored> {
  const { view } = await readWorkingCopy(app);
  const problems = new Map(view.outcomes.flatMap(({ id, problem }) => (problem === null ? [] : [[id, problem] as const])));
  return {
    leaves: view.frozen().tree.leaves,
    server: view.server,
    async texts(leaves: readonly Leaf[]) {
      const stored = await textsOf(
        app,
        leaves.filter(({ hash }) => view.textOf(hash) === undefined),
      );
      return new Map(leaves.map(({ hash }) => [hash, view.textOf(hash) ?? stored.get(hash) ?? '{}']));
    },
    problemOf: (id) => problems.get(id) ?? null,
  };
}
