import { afterEach, beforeEach, expect, test } from 'bun:test';
import { type TestApp, testApp } from '#test/support/app.ts';

const MANY = 300;
const PROMPTS = Array.from({ length: MANY }, (_, n) => ({ name: `prompt_${n}`, description: 'Greets', template: 'Hello' }));

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
});
afterEach(() => t.close());

const progressOf = async (id: string, headers: Record<string, string> = {}) => {
  const { status, body } = await t.request('GET', `/api/v1/progress/${id}`, { headers, anonymous: 'authorization' in headers });
  return [status, body['progress']] as const;
};

/** What the progress was, time and again, until the request was answered. */
async function watch(path: string, body: object, headers: Record<string, string> = {}) {
  const seen: { step: string; done: number; of: number }[] = [];
  const state = { answered: false };
  const request = t.request('POST', `/api/v1${path}`, { body, headers: { 'x-request-id': 'mine' } }).finally(() => {
    state.answered = true;
  });
  while (!state.answered) {
    const [, found] = await progressOf('mine', headers);
    if (found !== null) seen.push(found as (typeof seen)[number]);
    await Bun.sleep(5);
  }
  const { status } = await request;
  return { status, seen, after: (await progressOf('mine', headers))[1] };
}

test('an import and its rollback say how far they are, and nothing once they are answered', async () => {
  const imported = await watch('/export-import/import', { format: 'sluice/1', prompts: PROMPTS });
  const { items } = (await t.request('GET', '/api/v1/history?action=import&limit=1')).body as { items: [{ id: string }] };
  const undone = await watch(`/history/${items[0].id}/rollback`, {});
  for (const { status, seen, after } of [imported, undone]) {
    expect([status, after]).toEqual([200, null]);
    expect([...new Set(seen.map(({ step }) => step))].filter((step) => step === 'write')).toEqual(['write']);
    expect(new Set(seen.map(({ of }) => of))).toEqual(new Set([MANY]));
    for (const { done } of seen) expect(done).toBeLessThanOrEqual(MANY);
  }
  expect(imported.seen.some(({ done }) => done > 0)).toBe(true);
});

test('a refused import leaves no progress, and nobody else sees that of another', async () => {
  const refused = await watch('/export-import/import', { format: 'sluice/1', prompts: [...PROMPTS, { name: 'no name' }] });
  expect([refused.status, refused.after]).toEqual([422, null]);
  const made = await t.request('POST', '/api/v1/agent-tokens', {
    body: { name: 'robot', scopes: ['read'], duration_minutes: 60 },
  });
  const headers = { authorization: `Bearer ${String(made.body['token'])}` };
  const other = await watch('/export-import/import', { format: 'sluice/1', prompts: PROMPTS }, headers);
  expect([other.status, other.seen]).toEqual([200, []]);
  expect(await progressOf('mine', headers)).toEqual([200, null]);
});
