import { expect } from 'bun:test';
import type { TestApp } from '#test/support/app.ts';
import { peopleOf } from '#test/support/people.ts';
import { type Browser, createBrowser, post, refreshed, tokens } from '#test/support/sign-in.ts';

type Field =
  | 'approvals'
  | 'oauth_access_minutes'
  | 'oauth_refresh_days'
  | 'oauth_grant_days'
  | 'token_default_days'
  | 'dynamic_registration';

/** Changes settings. Signs in anew before dangerous changes, because some settings are shown by moving the clock. */
export const patchConfig = (app: () => TestApp) => async (body: object) => {
  const answer = await app().send('config.update', body);
  if (answer.body.code !== 'proof_required') return answer;
  await app().signIn();
  return app().send('config.update', body);
};

/** What each setting of signing in from MCP clients does. */
export function signInEffects(app: () => TestApp, patch: (body: object) => Promise<unknown>): Record<Field, () => Promise<void>> {
  const signedIn = async (t: TestApp): Promise<Browser> => {
    const browser = createBrowser(t);
    await browser.signIn();
    return browser;
  };
  return {
    async approvals() {
      const t = app();
      const bob = await peopleOf(t).join(t, { username: 'bob', role: 'admin' });
      await patch({ approvals: 1 });
      expect((await t.send('config.update', { approvals: 0 })).body.code).toBe('approval_required');
      const proposed = await t.send('config.update', { approvals: 0 }, { headers: { 'x-proposal-note': 'Enough' } });
      const { proposal_id = '' } = proposed.body as { readonly proposal_id?: string };
      await bob.call('proposals.approve', { id: proposal_id, version: 1 });
      expect((await t.call('config.get', {})).approvals).toBe(0);
    },
    async oauth_access_minutes() {
      const browser = await signedIn(app());
      await patch({ oauth_access_minutes: 5 });
      expect((await tokens(app(), browser)).body['expires_in']).toBe(300);
      await patch({ oauth_access_minutes: 60 });
    },
    async oauth_refresh_days() {
      const t = app();
      await patch({ oauth_refresh_days: 1 });
      const { refresh } = await tokens(t, await signedIn(t));
      await patch({ oauth_refresh_days: 30 });
      t.advance(24 * 3_600_000);
      expect((await post(t, '/oauth/token', refreshed(refresh))).status).toBe(400);
      const admin = { username: 'ada', password: 'correct horse' };
      await t.call('auth.login', admin);
    },
    async oauth_grant_days() {
      const t = app();
      const { refresh } = await tokens(t, await signedIn(t));
      t.advance(2 * 24 * 3_600_000);
      await t.call('auth.login', { username: 'ada', password: 'correct horse' });
      await patch({ oauth_grant_days: 2 });
      expect((await post(t, '/oauth/token', refreshed(refresh))).status).toBe(400);
      await patch({ oauth_grant_days: 90 });
      expect((await post(t, '/oauth/token', refreshed(refresh))).status).toBe(200);
    },
    async token_default_days() {
      const t = app();
      await patch({ token_default_days: 5 });
      const { expires_at, created_at } = await t.call('mcp_tokens.create', { name: 'short', all_toolsets: true });
      expect(Date.parse(expires_at ?? '') - Date.parse(created_at)).toBe(5 * 24 * 3_600_000);
      await patch({ token_default_days: 90 });
    },
    async dynamic_registration() {
      const register = () =>
        app().request('POST', '/oauth/register', { anonymous: true, body: { redirect_uris: ['https://a.example/cb'] } });
      expect((await register()).status).toBe(201);
      await patch({ dynamic_registration: false });
      expect((await register()).status).toBe(403);
      await patch({ dynamic_registration: true });
    },
  };
}
