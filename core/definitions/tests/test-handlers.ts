import type { WithSources } from '#core/sources/source-pool.ts';
import { type WithSnapshots, readSnapshot, type StoredSnapshot, textsOf } from '#core/versions/stored-snapshots.ts';
import type { WithTestRuns } from '#core/definitions/tests/run-tests.ts';
import { type WithWorkingCopy, readWorkingCopy } from '#core/versions/working-copy.ts';
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
import { keepResults } from './store-results.ts';
import { resultsOf } from '#core/definitions/test-results.ts';
import { mayTryWrites, shownResults, shownTo, test, type TestRow } from '#core/definitions/tests.ts';

export const testHandlers: Pick<
  Handlers<WithSources & WithSnapshots & WithTestRuns & WithWorkingCopy>,
  Extract<keyof Handlers<WithSources & WithSnapshots & WithTestRuns & WithWorkingCopy>, `tests.${string}`>
> = {
  ...test.handlers,
  'tests.run': async (context, input) => {
    const { app, actor } = context;
    const rows = await wantedTests(app, input);
    return inShare(app.test_runs, actor?.id ?? '', RUNS, async () => {
      const tested = await testedAs(app, input.against);
      const results = await runTests(context, rows, { ...tested, writes: mayTryWrites(actor) });
      await keepResults(context, results, String(input.against));
      return { ...tallyOf(results), results: shownResults(actor, rows, results) };
    });
  },
  'tests.results': async (context, { id }) => {
    const row = await test.noun.get(context, id);
    const items = (await resultsOf(context.app, id)).map((result) => shownTo(context.actor, row, result));
    return { items, total: items.length };
  },
};

/** Each run has statements of its own on the databases. */
const RUNS = { most: 3, sentence: 'Three runs of tests that you started are under way. Wait for one of them to finish.' };

export function tallyOf(results: readonly TestResult[]) {
  const of = (status: TestResult['status']) => results.filter((result) => result.status === status).length;
  return { passed: of('passed'), failed: of('failed'), skipped: of('skipped') };
}

/** Tests in one run of all of them. */
const MOST = 500;

/** Those that are named, also disabled ones; else the enabled ones. */
async function wantedTests({ store }: Platform, { ids, owner }: Input<'tests.run'>): Promise<TestRow[]> {
  const { tests } = store.tables;
  if (ids !== undefined && owner !== undefined) throw invalidField('owner', 'Send ids or owner, not both.');
  if (ids === undefined) {
    const wanted = and(eq(tests.enabled, true), owner === undefined ? undefined : eq(tests.owner_id, owner.id));
    const total = await store.db.$count(tests, wanted);
    if (total > MOST)
      throw new AppError('invalid', `There are ${total} tests, more than ${MOST}. Run those of one owner at a time.`);
    return store.db.select().from(tests).where(wanted).orderBy(tests.name);
  }
  const rows = await store.db.select().from(tests).where(inArray(tests.id, ids));
  return [...new Set(ids)].map((id) => {
    const row = rows.find((one) => one.id === id);
    if (row === undefined) throw invalidField(`ids.${ids.indexOf(id)}`, `ids.${ids.indexOf(id)} does not match any test.`);
    return row;
  });
}

type Stored = Omit<Tested, 'writes'>;

async function testedAs(app: Platform & WithSnapshots & WithWorkingCopy, against: Against): Promise<Stored> {
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

async function workingCopy(app: Platform & WithSnapshots & WithWorkingCopy): Promise<Stored> {
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
