import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { REST_MS } from '#core/identity/oauth/key-handlers.ts';
import { ROTATE_MS } from '#core/identity/oauth/keys.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { type Member, peopleOf } from '#test/support/people.ts';
import { createBrowser, tokens } from '#test/support/sign-in.ts';

let t: TestApp;
let owner: Member;
beforeAll(async () => {
  t = await testApp();
  owner = await peopleOf(t).owner();
});
afterAll(() => t.close());

const keys = async () => {
  const { status, body } = await owner.send('signing_keys.get');
  expect(status).toBe(200);
  return body;
};
const states = async () => (await keys()).items.map(({ state }) => state);
const rotate = (member = owner) => member.send('signing_keys.rotate');
const history = async () => (await owner.call('history.list', { entity_type: 'signing_key' })).items;

describe('the signing keys over REST', () => {
  test('are there after the first sign-in', async () => {
    expect(await keys()).toEqual({ items: [], rotates_at: null });
    const browser = createBrowser(t);
    await browser.signIn('ada', 'correct horse');
    expect((await tokens(t, browser)).status).toBe(200);
    const { items, rotates_at } = await keys();
    expect(items.map(({ state }) => state)).toEqual(['current', 'next']);
    expect(Object.keys(items[0] ?? {}).sort()).toEqual(['created_at', 'kid', 'since', 'state']);
    expect(Date.parse(rotates_at ?? '')).toBe(Date.parse(items[0]?.since ?? '') + ROTATE_MS);
  });

  test('rotate for administrators alone, and not again before hosts know the next one', async () => {
    const editor = await peopleOf(t).join(owner, { username: 'eddy', role: 'editor' });
    expect((await editor.send('signing_keys.get')).status).toBe(403);
    expect((await rotate(editor)).status).toBe(403);
    expect((await t.send('signing_keys.rotate', {}, { anonymous: true })).status).toBe(401);
    const refused = await rotate();
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining('Try again in 10 min.')]);
    expect([await states(), await history()]).toEqual([['current', 'next'], []]);

    const before = (await keys()).items;
    t.advance(REST_MS);
    const rotated = await rotate();
    expect(rotated.status).toBe(200);
    const after = (await keys()).items;
    expect(rotated.body.items).toEqual(after);
    expect(after.map(({ state }) => state)).toEqual(['current', 'next', 'retired']);
    expect([after[0]?.kid, after[2]?.kid]).toEqual([before[1]?.kid, before[0]?.kid]);
    expect((await rotate()).status).toBe(409);
  });

  test('leave an entry in the history, which cannot be rolled back', async () => {
    const [entry, ...others] = await history();
    const { items } = await keys();
    expect(others).toEqual([]);
    expect(entry).toMatchObject({
      entity_name: 'Signing keys',
      action: 'update',
      actor: { name: 'ada' },
      changes: { kid: { old: items[2]?.kid, new: items[0]?.kid } },
    });
    const undone = await owner.send('history.rollback', { history_id: String(entry?.id) });
    expect(undone.status).toBeGreaterThanOrEqual(400);
    expect(await keys()).toMatchObject({ items });
  });

  test('are created by a rotation where nobody signed in yet', async () => {
    const fresh = await testApp();
    try {
      const first = await peopleOf(fresh).owner();
      const made = await first.send('signing_keys.rotate');
      expect([made.status, made.body.items.length]).toEqual([200, 2]);
      expect((await first.send('signing_keys.rotate')).status).toBe(409);
      // The clock was ahead; another server's may be so by a little.
      fresh.advance(-60_000);
      expect((await first.send('signing_keys.rotate')).status).toBe(409);
      fresh.advance(-3_600_000);
      expect((await first.send('signing_keys.rotate')).status).toBe(200);
    } finally {
      await fresh.close();
    }
  });
});
