import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { collectOauth } from '#core/identity/oauth/garbage.ts';
import { listEnded } from '#core/identity/oauth/published.ts';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { type Member, PASSWORD, peopleOf } from '#test/support/people.ts';
import { asked, CALLBACK, createBrowser, exchanged, post, refreshed, tokens } from '#test/support/sign-in.ts';

let t: TestApp;
let owner: Member;
let viewer: Member;
let caller: Member;
beforeAll(async () => {
  t = await testApp();
  owner = await peopleOf(t).owner();
  viewer = await peopleOf(t).join(owner, { username: 'vera', role: 'viewer' });
  caller = await peopleOf(t).join(owner, { username: 'carl', role: 'caller', groups: ['sales'] });
});
afterAll(() => t.close());

const browserOf = async (username: string) => {
  const browser = createBrowser(t);
  expect((await browser.signIn(username, PASSWORD)).status).toBe(200);
  return browser;
};
const agent = { resource: 'http://localhost:3000/agent-mcp' };

describe('OAuth apps', () => {
  const draft = { name: 'Reports', redirect_uris: ['https://reports.example.com/cb'], confidential: true };

  test('OAuth apps are created, listed, changed and deleted by administrators alone, without the secret', async () => {
    for (const member of [viewer, caller]) {
      expect((await member.ask('POST', 'oauth-apps', draft)).status).toBe(403);
      expect((await member.ask('GET', 'oauth-apps')).status).toBe(403);
    }
    const made = await owner.ask('POST', 'oauth-apps', draft);
    expect([made.status, made.body['client_secret']]).toEqual([201, expect.stringMatching(/^svc_as_\w{40}$/)]);
    const { id, client_id, version } = made.body;
    const { body: list } = await owner.ask('GET', 'oauth-apps');
    expect(JSON.stringify(list)).not.toContain(String(made.body['client_secret']));
    expect(list).toMatchObject({ total: 1, items: [{ id, client_id, name: 'Reports', trusted: false }] });
    const other = await owner.ask('POST', 'oauth-apps', { ...draft, name: 'Other' });
    const message = 'Another OAuth app already has this name. Choose another one.';
    for (const taken of [
      await owner.ask('POST', 'oauth-apps', draft),
      await owner.ask('PATCH', `oauth-apps/${String(other.body['id'])}`, { name: 'Reports' }),
    ]) {
      expect([taken.status, taken.body['errors']]).toEqual([409, [{ field: 'name', message }]]);
    }
    expect((await owner.ask('DELETE', `oauth-apps/${String(other.body['id'])}`)).status).toBe(204);
    const renamed = await owner.ask('PATCH', `oauth-apps/${String(id)}`, { version, name: 'Weekly' });
    expect(renamed.body).toMatchObject({ name: 'Weekly', version: 2 });
    expect((await owner.ask('PATCH', `oauth-apps/${String(id)}`, { version, name: 'Daily' })).status).toBe(409);
    const history = await owner.ask('GET', `history?entity_type=oauth_app&entity_id=${String(id)}`);
    expect(history.body['total']).toBe(2);
    expect(JSON.stringify(history.body)).not.toMatch(/svc_as_|secret_digest/);
    expect((await owner.ask('DELETE', `oauth-apps/${String(id)}`)).status).toBe(204);
    expect((await owner.ask('DELETE', `oauth-apps/${String(id)}`)).status).toBe(404);
  });

  test.each(['javascript:alert(1)', 'http://example.com/cb', 'https://user@example.com/', 'https://example.com/#x', 'nonsense'])(
    'cannot have the redirect address %s',
    async (uri) => {
      const { status, body } = await owner.ask('POST', 'oauth-apps', {
        ...draft,
        name: 'Bad',
        redirect_uris: ['https://ok.example/', uri],
      });
      expect([status, JSON.stringify(body['errors'])]).toEqual([422, expect.stringContaining('redirect_uris.1')]);
    },
  );

  test('may have the scheme of an app, and end everything when they are deleted', async () => {
    const redirect_uri = 'com.example.app:/callback';
    const { body: app } = await owner.ask('POST', 'oauth-apps', { name: 'Mobile', redirect_uris: [redirect_uri] });
    const client_id = String(app['client_id']);
    const ada = await browserOf('ada');
    const { request } = await ada.authorize({ client_id, redirect_uri });
    const { body: shown } = await ada.send('GET', `/api/v1/oauth/requests/${request}`);
    expect(shown).toMatchObject({ client: { kind: 'app', trusted: false }, redirect_scheme: 'com.example.app:' });
    const { status, refresh } = await tokens(t, ada, { client_id, redirect_uri }, { client_id, redirect_uri });
    expect(status).toBe(200);
    await owner.ask('DELETE', `oauth-apps/${String(app['id'])}`);
    const dead = await post(t, '/oauth/token', refreshed(refresh, { client_id }));
    expect([dead.status, dead.body['error']]).toEqual([401, 'invalid_client']);
    expect((await owner.ask('GET', 'grants')).body['total']).toBe(0);
    expect(await listEnded(t.app)).toContainEqual(expect.objectContaining({ client_id }));
  });
});

test('the consent page is skipped for an https address alone, and never for the agent endpoint', async () => {
  const https = 'https://reports.example.com/cb';
  const redirect_uris = [https, 'http://127.0.0.1/cb', 'http://localhost:8123/cb', 'com.example.app:/cb'];
  for (const confidential of [false, true]) {
    const draft = { name: `Own ${confidential}`, redirect_uris, trusted: true, confidential };
    const made = await owner.ask('POST', 'oauth-apps', draft);
    const client_id = String(made.body['client_id']);
    const ada = await browserOf('ada');
    const skipped = async (redirect_uri: string, more: object = {}) => {
      const { request } = await ada.authorize({ client_id, redirect_uri, ...more });
      return (await ada.send('GET', `/api/v1/oauth/requests/${request}`)).body['client'];
    };
    expect(await skipped(https)).toMatchObject({ trusted: true });
    // Any program of the computer may listen there, and any page may send a browser on its way (RFC 8252, section 8.6).
    for (const uri of ['http://127.0.0.1:9/cb', 'http://localhost:8123/cb', 'com.example.app:/cb']) {
      expect(await skipped(uri)).toMatchObject({ trusted: false });
    }
    expect(await skipped(https, agent)).toMatchObject({ trusted: false });
  }
  const local = { name: 'Local', redirect_uris: ['http://127.0.0.1/cb'], trusted: true };
  const refused = await owner.ask('POST', 'oauth-apps', local);
  expect([refused.status, JSON.stringify(refused.body['errors'])]).toEqual([422, expect.stringContaining('trusted')]);
  const { body: app } = await owner.ask('POST', 'oauth-apps', { ...local, trusted: false });
  expect((await owner.ask('PATCH', `oauth-apps/${String(app['id'])}`, { trusted: true })).status).toBe(422);
});

describe('grants', () => {
  test('are listed and ended by their person and by administrators', async () => {
    const mine = await tokens(t, await browserOf('carl'));
    await tokens(t, await browserOf('vera'));
    expect((await caller.ask('GET', 'grants')).status).toBe(403);
    const own = await caller.ask('GET', 'grants?mine=true');
    expect(own.body).toMatchObject({
      total: 1,
      items: [{ person: { username: 'carl' }, client: { name: 'Claude Code' }, scopes: [] }],
    });
    const all = (await owner.ask('GET', 'grants')).body as { items: { id: string; person: { username: string } }[] };
    expect(all.items.map(({ person }) => person.username).toSorted((a, b) => a.localeCompare(b))).toEqual(['carl', 'vera']);
    const veras = all.items.find(({ person }) => person.username === 'vera');
    expect((await caller.ask('DELETE', `grants/${veras?.id}`)).status).toBe(404);
    const carls = all.items.find(({ person }) => person.username === 'carl');
    expect((await caller.ask('DELETE', `grants/${carls?.id}`)).status).toBe(204);
    expect((await post(t, '/oauth/token', refreshed(mine.refresh))).status).toBe(400);
    expect((await owner.ask('DELETE', `grants/${veras?.id}`)).status).toBe(204);
    const { body } = await owner.ask('GET', 'history?entity_type=grant');
    expect(
      (body['items'] as { action: string; actor: { name: string } }[])
        .slice(0, 2)
        .map(({ action, actor }) => [action, actor.name]),
    ).toEqual([
      ['delete', 'ada'],
      ['delete', 'carl'],
    ]);
    expect(JSON.stringify(body)).not.toContain('svc_or_');
  });

  test('of the agent endpoint hold no more than the role, now and later', async () => {
    const carl = await browserOf('carl');
    const { request } = await carl.authorize(agent);
    expect((await carl.send('GET', `/api/v1/oauth/requests/${request}`)).body).toMatchObject({
      scopes: [],
      refused: expect.stringContaining('role'),
    });
    expect((await carl.decide(request)).status).toBe(403);
    const vera = await browserOf('vera');
    const reading = await tokens(t, vera, { ...agent, scope: 'read write deploy' }, agent);
    expect(reading.body['scope']).toBe('read');
    const bearer = { authorization: `Bearer ${reading.access}`, 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN };
    const read = () => t.request('GET', '/api/v1/tools', { anonymous: true, headers: bearer });
    expect((await read()).status).toBe(200);
    await owner.ask('PATCH', `people/${viewer.id}`, { role: 'caller' });
    expect([401, 403]).toContain((await read()).status);
    await owner.ask('PATCH', `people/${viewer.id}`, { role: 'viewer' });
  });

  test('shrink with the role, and grow back with it', async () => {
    const editor = await peopleOf(t).join(owner, { username: 'edith', role: 'editor' });
    const { access, body } = await tokens(t, await browserOf('edith'), agent, agent);
    expect(body['scope']).toBe('read write deploy propose');
    const scopes = async () =>
      (
        await t.request('POST', '/api/internal/agent/authorize', {
          anonymous: true,
          headers: { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN },
          body: { token: access, client_address: null, calls: [] },
        })
      ).body['scopes'];
    expect(await scopes()).toEqual(['read', 'write', 'deploy', 'propose']);
    await owner.ask('PATCH', `people/${editor.id}`, { role: 'viewer' });
    expect(await scopes()).toEqual(['read']);
    await owner.ask('PATCH', `people/${editor.id}`, { role: 'editor' });
    expect(await scopes()).toEqual(['read', 'write', 'deploy', 'propose']);
  });

  test('stop with their person', async () => {
    const leaver = await peopleOf(t).join(owner, { username: 'lea', role: 'editor' });
    const { refresh, access } = await tokens(t, await browserOf('lea'), agent, agent);
    await owner.ask('PATCH', `people/${leaver.id}`, { enabled: false });
    expect((await post(t, '/oauth/token', refreshed(refresh))).body['error']).toBe('invalid_grant');
    const answer = await t.request('GET', '/api/v1/tools', { anonymous: true, headers: { authorization: `Bearer ${access}` } });
    expect(answer.status).toBe(401);
    await owner.ask('DELETE', `people/${leaver.id}`);
    await collectOauth(t.app);
    const { items } = (await owner.ask('GET', 'grants')).body as { items: { person: { id: string } }[] };
    expect(items.filter(({ person }) => person.id === leaver.id)).toEqual([]);
  });
});

test('attempts name client, step and reason for administrators, and are bounded', async () => {
  expect((await viewer.ask('GET', 'oauth/attempts')).status).toBe(403);
  const stranger = createBrowser(t);
  t.advance(60_000);
  await stranger.authorize({ client_id: 'some\u202Ebody' });
  await stranger.authorize({ redirect_uri: 'https://evil.example/' });
  await post(t, '/oauth/token', exchanged('svc_code_wrong'));
  const { items } = (await owner.ask('GET', 'oauth/attempts?success=false')).body as { items: Record<string, unknown>[] };
  expect(items.slice(0, 3)).toMatchObject([
    { client: 'Claude Code', step: 'token', success: false, reason: expect.stringContaining('code'), ip: '192.0.2.1' },
    { client: 'Claude Code', step: 'authorize', reason: expect.stringContaining('registered') },
    { client: 'somebody', client_id: 'somebody', step: 'authorize', reason: expect.stringContaining('not known') },
  ]);
  for (let minute = 0; minute < 25; minute++) {
    t.advance(60_000);
    for (let n = 0; n < 32; n++) await stranger.authorize({ client_id: 'nobody' });
  }
  const { body } = await owner.ask('GET', 'oauth/attempts');
  expect(body['total']).toBe(500);
}, 60_000);

test('nothing is left of what expired', async () => {
  t.advance(11 * 60_000);
  const browser = await browserOf('ada');
  await tokens(t, browser);
  await browser.authorize();
  await t.request('POST', '/oauth/register', { anonymous: true, body: { redirect_uris: [CALLBACK] } });
  await collectOauth(t.app);
  const { oauth_requests, oauth_codes, oauth_refresh, oauth_grants, oauth_registrations } = t.app.store.tables;
  const counts = () =>
    Promise.all(
      [oauth_requests, oauth_codes, oauth_refresh, oauth_grants, oauth_registrations].map((table) =>
        t.app.store.db.$count(table),
      ),
    );
  expect((await counts()).every((count) => count > 0)).toBe(true);
  t.advance(31 * 24 * 3_600_000);
  await collectOauth(t.app);
  expect(await counts()).toEqual([0, 0, 0, 0, 0]);
});

test('a request that is not there is 404 in the one form of errors', async () => {
  for (const id of ['nobody', '%00', 'x'.repeat(65)]) {
    const { status, body } = await t.request('GET', `/api/v1/oauth/requests/${id}`, { anonymous: true });
    expect([[404, 422].includes(status), isErrorBody(body)]).toEqual([true, true]);
  }
  expect(asked()).toHaveProperty('client_id');
});

test('of ten thousand grants the one that rested longest makes room for a new one, also among equal times', async () => {
  const { oauth_grants: table } = t.app.store.tables;
  const { db } = t.app.store;
  await tokens(t, await browserOf('vera'));
  const [one] = await db.select().from(table);
  const grants = Array.from({ length: 10_000 - (await db.$count(table)) }, (_, n) => ({
    ...one!,
    id: `old-${String(n).padStart(5, '0')}`,
    last_used_at: '2026-01-01T00:00:00.000Z',
  }));
  for (let n = 0; n < grants.length; n += 1_000) await db.insert(table).values(grants.slice(n, n + 1_000));
  for (const id of ['old-00000', 'old-00001']) {
    await tokens(t, await browserOf('vera'));
    expect(await db.$count(table)).toBe(10_000);
    expect(await listEnded(t.app)).toContainEqual(expect.objectContaining({ grant: id }));
  }
  expect(await db.$count(table, eq(table.id, 'old-00002'))).toBe(1);
});
