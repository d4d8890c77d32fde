import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { Progress } from '#core/contract/observe/progress.ts';
import { type TestApp, testApp } from '#test/support/app.ts';

const MANY = 1_000;
const PROMPTS = Array.from({ length: MANY }, (_, n) => ({ name: `prompt_${n}`, description: 'Greets', template: 'Hello' }));

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
});
afterEach(() => t.close());

const progressOf = async (id: string, headers: Record<string, string> = {}) => {
  const { status, body } = await t.send('progress.get', { request_id: id }, { headers, anonymous: 'authorization' in headers });
  return [status, body.progress] as const;
};

interface Watched {
  readonly status: number;
  /** What was noted, in its order. */
  readonly noted: readonly Progress[];
  /** What a request saw meanwhile, and afterwards. */
  readonly seen: readonly unknown[];
  readonly after: unknown;
}

async function watch(path: string, body: object, headers: Record<string, string> = {}): Promise<Watched> {
  const { kv, keyring } = t.app;
  const noted: Progress[] = [];
  const set = kv.set.bind(kv);
  kv.set = async (key, value, ttl_ms) => {
    if (key.startsWith('progress:')) noted.push(JSON.parse(keyring.open(value, key)) as Progress);
    await set(key, value, ttl_ms);
  };
  const seen: unknown[] = [];
  const state = { answered: false };
  const request = t.request('POST', `/api/v1${path}`, { body, headers: { 'x-request-id': 'mine' } }).finally(() => {
    state.answered = true;
  });
  while (!state.answered) {
    const [status, found] = await progressOf('mine', headers);
    // Where an import takes long, a person who asks so often is told to wait.
    if (status === 200 && found !== null) seen.push(found);
    await Bun.sleep(60);
  }
  kv.set = set;
  const { status } = await request;
  return { status, noted, seen, after: (await progressOf('mine', headers))[1] };
}

test('an import and its rollback say how far they are, and nothing once they are answered', async () => {
  const imported = await watch('/export-import/import', { format: 'sluice/1', prompts: PROMPTS });
  const { items } = await t.call('history.list', { action: 'import', limit: 1 });
  const undone = await watch(`/history/${items[0]?.id}/rollback`, {});
  for (const { status, noted, after } of [imported, undone]) {
    expect([status, after]).toEqual([200, null]);
    const begun = noted.filter(({ done }) => done === 0);
    expect(begun).toEqual([
      { step: 'check', done: 0, of: MANY },
      { step: 'write', done: 0, of: MANY },
    ]);
    for (const { done } of noted) expect(done).toBeLessThanOrEqual(MANY);
    for (const step of ['check', 'write']) expect(noted).toContainEqual({ step, done: MANY, of: MANY } as Progress);
  }
  expect(imported.noted).toEqual(expect.arrayContaining([...imported.seen] as Progress[]));
  expect(imported.seen).not.toEqual([]);
});

test('a refused import leaves no progress, and nobody else sees that of another', async () => {
  const refused = await watch('/export-import/import', { format: 'sluice/1', prompts: [...PROMPTS, { name: 'no name' }] });
  expect([refused.status, refused.after]).toEqual([422, null]);
  // What is at fault was looked at as well.
  const tools = ['one', 'two'].map((name) => ({ name, description: 'x', sql_query: 'select 1', connection: 'nowhere' }));
  const lost = await watch('/export-import/import', { format: 'sluice/1', tools, prompts: PROMPTS });
  expect([lost.status, lost.noted.at(-1)]).toEqual([422, { step: 'check', done: MANY + 2, of: MANY + 2 }]);
  const token = { name: 'robot', scopes: ['read'], duration_minutes: 60 };
  const made = await t.send('agent_tokens.create', token);
  const headers = { authorization: `Bearer ${made.body.token}` };
  const other = await watch('/export-import/import', { format: 'sluice/1', prompts: PROMPTS }, headers);
  expect([other.status, other.seen]).toEqual([200, []]);
  expect(await progressOf('mine', headers)).toEqual([200, null]);
});
