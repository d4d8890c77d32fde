import { inArray } from 'drizzle-orm';
import { type Test, TESTED_KINDS, type TestDraft, type TestResult } from '#core/contract/definitions/tests.ts';
import { AppError, invalidField } from '#core/errors.ts';
import { isPerson } from '#core/context/roles.ts';
import { isOfDatabase, tokenMessage } from '#core/query/masked-errors.ts';
import type { Actor, Context } from '#core/context/context.ts';
import { entityTable, type RowOf } from '#core/store/entity-table.ts';
import type { Db } from '#core/store/store.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { createEntity } from './entity.ts';
import { testedOf } from './owners.ts';
import { createEntityStore } from './entity-store.ts';
import { toDraft } from '#core/records/versioned.ts';
import { lastResults } from './test-results.ts';

export type TestRow = RowOf<'test'>;

const prepare = async (context: Context, draft: TestDraft, stored: TestRow | null) => ({
  values: await checkTest(context, draft, stored),
  compiled: null,
});

const noun = createEntityStore('test');

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

/** Whether a test that calls as somebody may be run or written: no token pretends to be a person. */
export const mayPretend = (actor: Actor | null): boolean => actor?.type === 'admin' || actor?.type === 'system';

/** Whether tests of what writes are run: who only proposes, or only reads, has no statement executed that does. */
export const mayTryWrites = (actor: Actor | null): boolean =>
  mayPretend(actor) ? isPerson(actor, 'editor') : actor?.scopes.includes('write') === true;

const ONLY_PEOPLE_READ_WHY = 'It failed. Only signed-in people can read why, because it runs as a caller.';
/** What a run found of one test. */
export type Judged = Omit<TestResult, 'id' | 'name' | 'owner'>;

/** A result as a token sees it: of a failure nothing that could repeat, count or time what was found. */
export const withoutFinding = <T extends Judged>(result: T, why = ONLY_PEOPLE_READ_WHY): T => ({
  ...result,
  ms: 0,
  rows: null,
  failures: result.status === 'failed' ? [why] : result.failures,
  error: null,
  sqlstate: null,
});

/** A result as its reader may know it: what a test with a caller found is for people, and so is what a database said. */
export function shownTo<T extends Judged | null>(actor: Actor | null, { caller }: Pick<TestRow, 'caller'>, result: T): T {
  if (result === null || mayPretend(actor)) return result;
  return caller === null ? withoutDatabaseMessage(result) : withoutFinding(result);
}

function withoutDatabaseMessage<T extends Judged>(result: T): T {
  const { error, sqlstate, failures } = result;
  if (!isOfDatabase(error)) return result;
  const told = tokenMessage({ error, error_message: '', sqlstate });
  return { ...result, failures: failures.length === 0 ? [] : [`The call failed: ${told}`] };
}

/** Results of one run, in the order of its tests. */
export const shownResults = (actor: Actor | null, rows: readonly TestRow[], results: readonly TestResult[]): TestResult[] =>
  rows.flatMap((row, n) => shownTo(actor, row, results[n] ?? null) ?? []);

function refuseCaller(actor: Actor | null, draft: TestDraft, stored: TestRow | null): void {
  if (mayPretend(actor)) return;
  if (draft.caller === null && (stored?.caller ?? null) === null) return;
  // What it sends and expects would tell a token what that caller sees.
  const same =
    stored !== null &&
    canonical({ ...toDraft(stored), enabled: true }) === canonical({ ...toDraft(stored), ...draft, enabled: true });
  if (same && stored.enabled && !draft.enabled) refuseEndingOf(actor, stored, 'disable');
  if (same) return;
  const message = 'Only a signed-in person can write a test that has a caller, not a token. Leave out caller.';
  throw new AppError('admin_only', message, { errors: [{ field: 'caller', message }] });
}

/** Such a test guards the rows of a caller, and whoever it guards them from cannot switch it off. */
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
