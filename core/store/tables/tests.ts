import type { TestDraft } from '#core/contract/definitions/tests.ts';
import { type Kit, recordColumns } from '../kit.ts';

/** Tests of definitions, and their latest results. */
export function testTables(k: Kit) {
  const tests = k.table(
    'tests',
    {
      ...recordColumns(k),
      owner: k.json<TestDraft['owner']>().notNull(),
      /** The id in `owner`, for queries. */
      owner_id: k.text().notNull(),
      arguments: k.json<TestDraft['arguments']>().notNull(),
      caller: k.json<NonNullable<TestDraft['caller']>>(),
      expect: k.json<TestDraft['expect']>().notNull(),
      enabled: k.bool().notNull(),
    },
    (t) => [k.unique('tests_name').on(t.name), k.index('tests_owner').on(t.owner_id)],
  );
  const test_results = k.table(
    'test_results',
    {
      id: k.text().primaryKey(),
      test_id: k.text().notNull(),
      status: k.text().$type<'passed' | 'failed' | 'skipped'>().notNull(),
      ms: k.real().notNull(),
      rows: k.int(),
      failures: k.json<string[]>().notNull(),
      error: k.text(),
      sqlstate: k.text(),
      against: k.text().notNull(),
      actor: k.text().notNull(),
      created_at: k.text().notNull(),
    },
    (t) => [k.index('test_results_test').on(t.test_id, t.id)],
  );
  return { tests, test_results };
}
