import type { Platform } from '#core/platform/platform.ts';
import { inArray, max, desc, eq } from 'drizzle-orm';
import { type StoredResult, type TestDraft, type TestResult, type Test, TESTED_KINDS } from '#core/contract/definitions/tests.ts';
import type { Db } from '#core/store/store.ts';
import { type RowOf, entityTable } from '#core/store/entity-table.ts';
import type { Context, Actor } from '#core/context/context.ts';
import { EntityStore } from './entity-store.ts';
import { createEntity } from './entity.ts';
import { toDraft } from '#core/records/versioned.ts';
import { testedOf } from './owners.ts';
import { isPerson } from '#core/context/roles.ts';
import { isOfDatabase, tokenMessage } from '#core/query/masked-errors.ts';
import { AppError, invalidField } from '#core/errors.ts';
import { canonical } from '#snapshots/format/canonical.ts';

export type TestRow = RowOf<'test'>;

const prepare = async (context: Context, draft: TestDraft, stored: TestRow | null) => ({
  values: await checkTest(context, draft, stored),
  compiled: null,
});

const noun = new EntityStore('test');

export const test = createEntity<'test', TestDraft>('test', {
  async remove(context, tx, id) {
    refuseEndingOf(context.actor, await noun.get(context, id, tx), 'delete');
    await noun.removeAll(context, tx, [id]);
  },
  prepare: (context, _, draft, stored) => prepare(context, draft, stored),
  prepareEarlier: (context, earlier, stored) => prepare(context, toDraft(earlier), stored),
  show: showTests,
});

async function checkTest(context: Context, draft: TestDraft, stored: TestRow | null) {
  refuseCaller(context.actor, draft, stored);
  refuseContradiction(draft);
  await testedOf(context, draft.owner);
  const { owner, name, arguments: args, caller, expect, enabled } = draft;
  return { owner, owner_id: owner.id, name, arguments: args, caller, expect, enabled };
}

/** Whether the actor may run or write tests that run as a caller. Tokens may not act as a person. */
export const mayPretend = (actor: Actor | null): boolean => actor?.type === 'admin' || actor?.type === 'system';

/** Whether tests of writing statements are run. For actors that can only read or propose, no such statement is executed. */
export const mayTryWrites = (actor: Actor | null): boolean =>
  mayPretend(actor) ? isPerson(actor, 'editor') : actor?.scopes.includes('write') === true;

const ONLY_PEOPLE_READ_WHY = 'It failed. Only signed-in people can read why, because it runs as a caller.';

/** The result of one test, without the test. */
export type TestVerdict = Omit<TestResult, 'id' | 'name' | 'owner'>;

/** A result as a token sees it. A failure contains no value, count or time, from which data could be inferred. */
export const withoutFinding = <T extends TestVerdict>(result: T, why = ONLY_PEOPLE_READ_WHY): T => ({
  ...result,
  ms: 0,
  rows: null,
  failures: result.status === 'failed' ? [why] : result.failures,
  error: null,
  sqlstate: null,
});

/** A result as its reader sees it. Only people see results of tests with a caller, and messages of databases. */
export function shownTo<T extends TestVerdict | null>(actor: Actor | null, { caller }: Pick<TestRow, 'caller'>, result: T): T {
  if (result === null || mayPretend(actor)) return result;
  return caller === null ? withoutDatabaseMessage(result) : withoutFinding(result);
}

function withoutDatabaseMessage<T extends TestVerdict>(result: T): T {
  const { error, sqlstate, failures } = result;
  if (!isOfDatabase(error)) return result;
  const message = tokenMessage({ error, error_message: '', sqlstate });
  return { ...result, failures: failures.length === 0 ? [] : [`The call failed: ${message}`] };
}

/** Results of one run, in the order of its tests. */
export const shownResults = (actor: Actor | null, rows: readonly TestRow[], results: readonly TestResult[]): TestResult[] =>
  rows.flatMap((row, n) => shownTo(actor, row, results[n] ?? null) ?? []);

function refuseCaller(actor: Actor | null, draft: TestDraft, stored: TestRow | null): void {
  if (mayPretend(actor)) return;
  if (draft.caller === null && (stored?.caller ?? null) === null) return;
  // The arguments and expectations of such a test would reveal to a token what that caller sees.
  const same =
    stored !== null &&
    canonical({ ...toDraft(stored), enabled: true }) === canonical({ ...toDraft(stored), ...draft, enabled: true });
  if (same && stored.enabled && !draft.enabled) refuseEndingOf(actor, stored, 'disable');
  if (same) return;
  const message = 'Only a signed-in person can write a test that has a caller, not a token. Leave out caller.';
  throw new AppError('admin_only', message, { errors: [{ field: 'caller', message }] });
}

/** A test with a caller guards which rows that caller sees, so tokens can neither disable nor delete it. */
function refuseEndingOf(actor: Actor | null, { caller }: Pick<TestRow, 'caller'>, verb: 'delete' | 'disable'): void {
  if (caller === null || mayPretend(actor)) return;
  throw new AppError('admin_only', `Only a signed-in person can ${verb} a test that has a caller, not a token.`);
}

function refuseContradiction({ owner, expect }: TestDraft): void {
  const named = Object.keys(expect).filter((member) => expect[member as keyof typeof expect] !== undefined);
  const others = named.filter((member) => member !== 'error' && member !== 'max_ms');
  if (expect.error !== undefined && others.length > 0) {
    throw invalidField(`expect.${others[0]}`, `A call that must fail has no result: remove error, or ${others.join(', ')}.`);
  }
  const of_rows = named.filter((member) => ['columns', 'absent_columns', 'rows', 'contains'].includes(member));
  if (owner.kind === 'prompt' && of_rows.length > 0) {
    throw invalidField(`expect.${of_rows[0]}`, `A prompt has no rows: remove ${of_rows.join(', ')}. Use equals for its text.`);
  }
}

async function showTests(context: Context, rows: readonly TestRow[]): Promise<Test[]> {
  const [names, last] = await Promise.all([
    ownerNames(context, rows),
    lastResults(
      context.app,
      rows.map(({ id }) => id),
    ),
  ]);
  return rows.map((row) => ({
    ...row,
    owner_name: names.get(row.owner_id) ?? '',
    last: shownTo(context.actor, row, last.get(row.id) ?? null),
  }));
}

/** Names of the definitions of tests, by id. */
export async function ownerNames(
  { app }: Context,
  rows: readonly Pick<TestRow, 'owner'>[],
  tx: Db = app.store.db,
): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (const kind of TESTED_KINDS) {
    const ids = [...new Set(rows.flatMap(({ owner }) => (owner.kind === kind ? [owner.id] : [])))];
    if (ids.length === 0) continue;
    const table = entityTable(app.store, kind);
    const found = await tx.select({ id: table.id, name: table.name }).from(table).where(inArray(table.id, ids));
    for (const { id, name } of found) names.set(id, name);
  }
  return names;
}

/** The newest result of each test, by its id. */
export async function lastResults(
  { store }: Platform,
  ids: readonly string[],
  tx: Db = store.db,
): Promise<Map<string, StoredResult>> {
  if (ids.length === 0) return new Map();
  const { test_results: table } = store.tables;
  const newest = tx
    .select({ id: max(table.id) })
    .from(table)
    .where(inArray(table.test_id, [...ids]))
    .groupBy(table.test_id);
  const found = await tx.select().from(table).where(inArray(table.id, newest));
  return new Map(found.map((row) => [row.test_id, row]));
}

/** The latest results of a test, newest first. */
export function resultsOf({ store }: Platform, id: string): Promise<StoredResult[]> {
  const { test_results: table } = store.tables;
  return store.db.select().from(table).where(eq(table.test_id, id)).orderBy(desc(table.id));
}
