import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { ImportReport } from '#core/contract/transfer.ts';
import { type TestApp, testApp } from '#test/support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
});
afterEach(() => t.close());

const send = (raw: string, query = '') => t.request('POST', `/api/v1/export-import/import?${query}`, { raw });
const listOf = (count: number, item: (n: number) => object) => Array.from({ length: count }, (_, n) => item(n));
const prompt = (n: number) => ({ name: `prompt_${n}`, description: 'Greets', template: 'Hello' });
const body = (lists: object) => JSON.stringify({ format: 'sluice/1', ...lists });
const stored = async () => (await t.call('prompts.list', { limit: 1 })).total;

test('a body of more than a million values is refused before it is parsed, whatever its texts hold', async () => {
  const many = Array.from({ length: 1_000_001 }, () => '{}').join(',');
  const refused = await send(`{"format":"sluice/1","tools":[${many}]}`);
  expect([refused.status, refused.body.detail]).toEqual([413, 'The body has more than a million values. Send it in parts.']);
  // Not even JSON: nobody looked.
  expect((await send(many)).status).toBe(413);
  const texts = JSON.stringify(`\\",{[`.repeat(300_000));
  expect((await send(`{"format":"sluice/1","exported_at":${texts}}`)).status).toBe(200);
});

test.each([
  ['tools', 10_001],
  ['resources', 10_001],
  ['prompts', 10_001],
  ['connections', 1_001],
])('more %s than an installation can serve are refused in one sentence', async (noun, count) => {
  const refused = await send(body({ [noun]: listOf(count, () => ({})) }));
  expect([refused.status, refused.body.detail]).toEqual([422, `${noun} must have at most ${count - 1} entries.`]);
});

test('checking ends after a hundred faults, and the report says that there may be more', async () => {
  const raw = body({ prompts: listOf(5_000, () => ({})), tools: listOf(5_000, () => ({})) });
  const rehearsed = (await send(raw, 'dry_run=true')).body as ImportReport;
  expect([rehearsed.errors.length, rehearsed.errors_truncated]).toEqual([100, true]);
  const refused = await send(raw);
  expect(refused.status).toBe(422);
  expect(String(refused.body.detail)).toEndWith('And 90 more. Validation stopped after 100 errors; there may be more.');
  const some = (await send(body({ prompts: [{}, prompt(1)] }), 'dry_run=true')).body as ImportReport;
  expect(some.errors_truncated).toBe(false);
  expect(some.errors.length).toBeLessThan(10);
  // What comes behind the hundredth fault is not even compared with what is stored.
  expect((await send(body({ prompts: [prompt(1)] }))).status).toBe(200);
  const skippedBehind = async (faulty: number) =>
    (await send(body({ prompts: [...listOf(faulty, () => ({})), prompt(1)] }), 'dry_run=true')).body['skipped'];
  expect(await skippedBehind(1)).toMatchObject({ prompts: 1 });
  expect(await skippedBehind(200)).toMatchObject({ prompts: 0 });
  // Faults that only the checks of a write find end it as well.
  const lost = body({
    tools: listOf(500, (n) => ({ name: `t${n}`, description: 'x', sql_query: 'select 1', connection: 'nowhere' })),
  });
  const checked = (await send(lost, 'dry_run=true')).body as ImportReport;
  expect([checked.errors.length, checked.errors_truncated]).toEqual([100, true]);
});

test('a definition has at most 50 tests and an installation 200 toolsets, after an import as well', async () => {
  expect((await send(body({ prompts: [prompt(1)] }))).status).toBe(200);
  const tests = (from: number, count: number) =>
    listOf(count, (n) => ({ name: `test ${from + n}`, owner: { kind: 'prompt', name: 'prompt_1' } }));
  const names = (from: number, count: number) => Array.from({ length: count }, (_, n) => `test ${from + n}`);
  const totalOf = async (noun: string) => (await t.request('GET', `/api/v1/${noun}?limit=1`)).body['total'];
  const crowded = await send(body({ tests: tests(0, 60) }));
  expect([crowded.status, await totalOf('tests')]).toEqual([422, 0]);
  expect(crowded.body.detail).toBe('Nothing was imported. Test test 50: A prompt has at most 50 tests. Delete one first.');
  const rehearsed = (await send(body({ tests: tests(0, 60) }), 'dry_run=true')).body as ImportReport;
  expect(rehearsed.errors).toMatchObject([{ entity_type: 'test', name: 'test 50', field: 'owner' }]);
  expect((await send(body({ tests: tests(0, 50) }))).status).toBe(200);
  // What goes leaves room for what comes.
  expect((await send(body({ tests: tests(50, 50), deletes: { tests: names(0, 50) } }))).status).toBe(200);
  expect(await totalOf('tests')).toBe(50);
  expect((await send(body({ tests: tests(100, 2), deletes: { tests: names(50, 1) } }))).status).toBe(422);
  const toolsets = (from: number, count: number) => listOf(count, (n) => ({ name: `t${from + n}` }));
  const many = await send(body({ toolsets: toolsets(0, 200) }));
  expect(many.status).toBe(200);
  const more = await send(body({ toolsets: toolsets(200, 1) }));
  expect([more.status, more.body.detail]).toEqual([
    422,
    'Nothing was imported. Toolset t200: An installation has at most 200 toolsets. Delete one first.',
  ]);
  const gone = Array.from({ length: 200 }, (_, n) => `t${n}`);
  expect((await send(body({ toolsets: toolsets(200, 200), deletes: { toolsets: gone } }))).status).toBe(200);
  expect(await totalOf('toolsets')).toBe(200);
}, 60_000);

/** How many requests were answered, one after the other, before this work was done. */
async function answeredDuring(work: Promise<unknown>): Promise<number> {
  const state = { done: false };
  const end = work.finally(() => {
    state.done = true;
  });
  let answered = 0;
  while (!state.done) {
    await t.call('health.get', {}, { anonymous: true });
    answered += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  await end;
  return answered;
}

test('other requests are answered while an import is checked, written and undone', async () => {
  // How many depends on the machine, as work gives way by time. In one piece it would let the first through, and none after it.
  expect(await answeredDuring(send(body({ prompts: listOf(MANY, prompt) })))).toBeGreaterThan(2);
  expect(await stored()).toBe(MANY);
  const history = await t.call('history.list', { action: 'import', limit: 1 });
  const [entry] = history.items as { id: string }[];
  const undoing = t.send('history.rollback', { history_id: entry?.id });
  expect(await answeredDuring(undoing)).toBeGreaterThan(2);
  expect(await stored()).toBe(0);
}, 60_000);

/** Takes longer than many slices of work on every machine. */
const MANY = 1_000;

test('a client of a toolset that is not here is kept without it, with a warning', async () => {
  const client = { client_id: 'narrow', client_secret: 'canary-secret', toolsets: ['nowhere'] };
  const raw = body({ server_config: { oauth_clients: [client] } });
  const report = (await send(raw, 'include_server_config=true')).body as ImportReport;
  expect(report.warnings.map(({ message }) => message)).toEqual([
    'The OAuth client narrow named the toolset nowhere, which is not here; it was left out.',
  ]);
  const { oauth_clients } = await t.call('config.get', {});
  expect(oauth_clients).toMatchObject([{ client_id: 'narrow', toolsets: [] }]);
});
