import type { Platform } from '#core/platform/platform.ts';
import { and, eq, inArray } from 'drizzle-orm';
import { TESTED_KINDS, type TestResult } from '#core/contract/definitions/tests.ts';
import { subjectOf } from '#core/contract/entities.ts';
import { NO_TIME, PEOPLE_ONLY, runTests } from '#core/definitions/tests/run-tests.ts';
import { storeResults } from '#core/definitions/tests/store-results.ts';
import { ownerNames, shownResults, type TestRow } from '#core/definitions/tests.ts';
import { entityTable } from '#core/store/entity-table.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { differingIn } from '#snapshots/format/tree.ts';
import { NO_VERSION } from '#core/versions/stored-candidates.ts';
import type { StoredSnapshot } from '#core/versions/stored-snapshots.ts';
import type { GateSubject, DeployGate, Finding } from './gate.ts';
import { pagesOf } from '#core/lib/slices.ts';

const TESTED: readonly string[] = TESTED_KINDS;
const IDS_PER_STATEMENT = 500;

/** The enabled tests of changed definitions, and of those that depend on a change. */
export const testsGate: DeployGate = {
  name: 'tests',
  async run(context, subject, active) {
    const rows = await affectedTests(context.app, subject, active);
    if (rows.length === 0) return [];
    const { tree, server, texts, version, proposed } = subject;
    // Stored definitions were written by an actor with that right.
    const writes = proposed?.writes !== false;
    const results = await runTests(context, rows, { leaves: tree.leaves, server, texts, writes });
    await storeResults(context, results, againstOf(version));
    const names = await ownerNames(context, rows);
    const { actor } = context;
    return shownResults(actor, rows, results).flatMap((result) => findingOf(result, names.get(result.owner.id) ?? ''));
  },
};

const againstOf = (version: number | null): string =>
  version === null ? 'draft' : version === NO_VERSION ? 'candidate' : String(version);

function findingOf({ name, owner: { kind }, status, failures }: TestResult, owner: string): Finding[] {
  if (status === 'passed') return [];
  const found = {
    field: `${kind}.${owner}`,
    message: `${subjectOf(kind, owner)}, test ${JSON.stringify(name)}: ${failures.join(' ')}`,
  };
  const is_harmless = status === 'skipped' && !failures.some((reason) => reason === NO_TIME || reason === PEOPLE_ONLY);
  return [is_harmless ? { ...found, harmless: true } : found];
}

async function affectedTests({ store }: Platform, subject: GateSubject, active: StoredSnapshot | null): Promise<TestRow[]> {
  const { tests } = store.tables;
  const enabled = eq(tests.enabled, true);
  if ((await store.db.$count(tests, enabled)) === 0) return [];
  const { now } = differingIn(active?.tree ?? null, subject.tree);
  const vars = ({ global_variables }: { readonly global_variables: object }) => canonical(global_variables);
  if (active === null || vars(active.server) !== vars(subject.server)) {
    return store.db.select().from(tests).where(enabled).orderBy(tests.name);
  }
  const ids = async (kinds: readonly string[]) => {
    const read = await subject.texts(now.filter(({ kind }) => kinds.includes(kind)));
    return [...read.values()].map((text) => (JSON.parse(text) as { readonly id: string }).id);
  };
  const changed = new Set(await ids(TESTED));
  for (const connection_id of await ids(['connection'])) {
    for (const kind of TESTED_KINDS) {
      const table = entityTable({ tables: store.tables }, kind);
      const owned = await store.db.select({ id: table.id }).from(table).where(eq(table.connection_id, connection_id));
      for (const { id } of owned) changed.add(id);
    }
  }
  const list = [...changed];
  const found: TestRow[] = [];
  for (const page of pagesOf(list, IDS_PER_STATEMENT)) {
    found.push(
      ...(await store.db
        .select()
        .from(tests)
        .where(and(enabled, inArray(tests.owner_id, page)))),
    );
  }
  return found;
}
