import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { lookAtTokenEnds } from '#core/identity/ends/watch-ends.ts';
import type { Env } from '#core/process/env.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { createBrowser, exchanged, post } from '#test/support/sign-in.ts';
import { PASSWORD, peopleOf } from '#test/support/people.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
});
afterEach(() => t.close());

const DAY_MS = 86_400_000;
// The clock of a test app stands at 2026-03-01T12:00:00.000Z.
const inDays = (days: number) => new Date(Date.parse('2026-03-01T12:00:00.000Z') + days * DAY_MS).toISOString();
/** Sessions end within a day. */
const nextDay = async () => {
  t.advance(DAY_MS);
  await t.signIn();
};
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');
const createToken = (more: object = {}) => t.send('mcp_tokens.create', { name: 'Claude', all_toolsets: true, ...more });
const createClient = (more: object = {}) =>
  t.send('oauth_clients.create', { name: 'Ci', idle_timeout_minutes: 1_440, scopes: ['read'], ...more });
const restarted = async (env: Partial<Record<keyof Env, string>>): Promise<void> => {
  await t.close();
  t = await testApp(env);
  await t.signIn();
};
const bought = (client: { client_id: string }, client_secret: string) =>
  post(t, '/oauth/token', { grant_type: 'client_credentials', client_id: client.client_id, client_secret });

describe('a new token', () => {
  test('for everything is refused unless the request says so, and so is a list together with everything', async () => {
    for (const more of [{ all_toolsets: false }, { all_toolsets: true, toolsets: [] }]) {
      const { status, body } = await createToken(more);
      expect(status).toBe(422);
      expect(body.errors).toMatchObject([{ field: 'all_toolsets' in more && more.all_toolsets ? 'all_toolsets' : 'toolsets' }]);
    }
    expect((await t.call('mcp_tokens.list', {})).total).toBe(0);
    const { body } = await createToken({ all_toolsets: false, toolsets: [] });
    const widened = await t.send('mcp_tokens.update', { id: body.id, toolsets: null });
    expect([widened.status, widened.body.errors]).toMatchObject([422, [{ field: 'toolsets' }]]);
    expect(await t.call('mcp_tokens.update', { id: body.id, all_toolsets: true })).toMatchObject({ toolsets: null, version: 2 });
    // Unchanged, as a form sends it.
    expect((await t.send('mcp_tokens.update', { id: body.id, toolsets: null, name: 'x' })).status).toBe(200);
  });

  test('ends after token_default_days, or as the request says, at most after SVC_TOKEN_MAX_DAYS', async () => {
    await restarted({ SVC_TOKEN_MAX_DAYS: '60' });
    expect((await createToken()).body.expires_at).toBe(inDays(60));
    expect((await createToken({ expires_in_days: 7 })).body.expires_at).toBe(inDays(7));
    for (const expires_in_days of [61, null, 0]) {
      const { status, body } = await createToken({ expires_in_days });
      expect([status, body.errors]).toMatchObject([422, [{ field: 'expires_in_days' }]]);
    }
    expect((await createClient({ expires_in_days: 61 })).status).toBe(422);
    const refused = await t.send('config.update', { token_default_days: 61 });
    expect([refused.status, refused.body.errors]).toMatchObject([422, [{ field: 'token_default_days' }]]);
    expect(await t.call('config.update', { token_default_days: 30 })).toMatchObject({
      token_default_days: 30,
      token_max_days: 60,
    });
    expect((await createToken()).body.expires_at).toBe(inDays(30));
    expect((await createClient()).body.expires_at).toBe(inDays(30));
  });

  test('is refused with a date, which the lifetime in days decides', async () => {
    const agent = { name: 'Claude', duration_minutes: 60, scopes: ['read'], expires_at: inDays(5) } as never;
    for (const { status, body } of [await createToken({ expires_at: inDays(5) }), await t.send('agent_tokens.create', agent)])
      expect([status, body.errors]).toMatchObject([422, [{ field: 'expires_at' }]]);
    expect((await createToken({ created_at: inDays(5), expires_in_days: 5 })).body).toMatchObject({ expires_at: inDays(5) });
  });

  test('has no end only where the operator sets no longest lifetime', async () => {
    await restarted({ SVC_TOKEN_MAX_DAYS: '0' });
    expect((await createToken({ expires_in_days: null })).body.expires_at).toBe(null);
    expect((await createToken()).body.expires_at).toBe(inDays(90));
    await lookAtTokenEnds(t.app);
    expect((await t.call('mcp_tokens.list', {})).items.map(({ expires_at }) => expires_at)).toEqual([inDays(90), null]);
  });
});

describe('a rotation', () => {
  test('of an access token shows the new one once; hosts get both, the old one for 24 hours', async () => {
    const { body: made } = await createToken({ expires_in_days: 30 });
    expect((await t.send('mcp_tokens.rotate', { id: made.id, version: 9 })).status).toBe(409);
    expect((await t.send('mcp_tokens.rotate', { id: made.id }, { anonymous: true })).status).toBe(401);
    expect((await t.send('mcp_tokens.rotate', { id: crypto.randomUUID() })).status).toBe(404);
    await nextDay();
    const sent: unknown[] = [];
    t.app.hosts.connect('h1', (event) => {
      if (event.event === 'tokens') sent.push(...event.data.tokens);
    });
    const { token, ...shown } = await t.call('mcp_tokens.rotate', { id: made.id, version: 1, expires_in_days: 30 });
    expect(shown).toMatchObject({ id: made.id, version: 2, expires_at: inDays(31), rotation_ends_at: inDays(2) });
    expect(sent).toMatchObject([
      {
        id: made.id,
        digest: digestOf(token),
        expires_at: inDays(31),
        previous: { digest: digestOf(made.token), ends_at: inDays(2) },
      },
    ]);
    const [row] = await t.app.store.db.select().from(t.app.store.tables.mcp_tokens);
    const hash = t.app.keyring.open(row?.previous_hash?.$sealed ?? '', `mcp_token/${made.id}/previous_hash`);
    expect(await Bun.password.verify(made.token, hash)).toBe(true);
    const history = JSON.stringify(await t.call('history.list', { entity_type: 'mcp_token' }));
    for (const secret of [token, made.token, row?.digest ?? '-', row?.previous_digest ?? '-', row?.previous_hash?.$sealed ?? '-'])
      expect(history).not.toContain(secret);
    await t.call('mcp_tokens.delete', { id: made.id });
    expect((await t.send('mcp_tokens.rotate', { id: made.id })).status).toBe(409);
  });

  test('of an expired token keeps nothing of the old one', async () => {
    const { body: made } = await createToken({ expires_in_days: 1 });
    await nextDay();
    expect(await t.call('mcp_tokens.rotate', { id: made.id })).toMatchObject({ rotation_ends_at: null, expires_at: inDays(91) });
  });

  test('of an OAuth client leaves the old secret for 24 hours, and its tokens live on', async () => {
    const { body: client } = await createClient();
    const { body: tokens } = await bought(client, client.client_secret);
    const rotated = await t.call('oauth_clients.rotate', { id: client.id });
    expect(rotated).toMatchObject({ rotation_ends_at: inDays(1), expires_at: inDays(90) });
    const rest = () =>
      t.request('GET', '/api/v1/tools', {
        anonymous: true,
        headers: { authorization: `Bearer ${String(tokens['access_token'])}` },
      });
    expect((await rest()).status).toBe(200);
    expect((await bought(client, client.client_secret)).status).toBe(200);
    t.advance(DAY_MS);
    const old = await bought(client, client.client_secret);
    expect([old.status, old.body['error_description']]).toEqual([401, expect.stringContaining(`expired on ${inDays(1)}`)]);
    expect((await bought(client, rotated.client_secret)).status).toBe(200);
  });
});

describe('after its end', () => {
  test('an OAuth client gets no token, and its tokens are refused, with a sentence that says so', async () => {
    const { body: client } = await createClient({ expires_in_days: 1 });
    t.advance(DAY_MS - 60_000);
    const { body: tokens } = await bought(client, client.client_secret);
    t.advance(60_000);
    const refused = await bought(client, client.client_secret);
    expect(refused.body).toMatchObject({ error: 'invalid_client', error_description: expect.stringContaining(inDays(1)) });
    const renewed = await post(t, '/oauth/token', {
      grant_type: 'refresh_token',
      refresh_token: String(tokens['refresh_token']),
      client_id: client.client_id,
      client_secret: client.client_secret,
    });
    expect(renewed.body).toMatchObject({ error: 'invalid_grant', error_description: expect.stringContaining(inDays(1)) });
    const authorization = `Bearer ${String(tokens['access_token'])}`;
    const rest = await t.request('GET', '/api/v1/tools', { anonymous: true, headers: { authorization } });
    expect([rest.status, rest.body['detail']]).toEqual([
      401,
      `The OAuth client expired on ${inDays(1)}. An administrator has to rotate it or create another one.`,
    ]);
  });

  test('an agent token is refused with a sentence that says so', async () => {
    const { token } = await t.call('agent_tokens.create', { name: 'a', duration_minutes: 1_440 });
    t.advance(DAY_MS);
    const rest = await t.request('GET', '/api/v1/tools', { anonymous: true, headers: { authorization: `Bearer ${token}` } });
    expect([rest.status, rest.body['detail']]).toEqual([401, expect.stringContaining(`The agent token expired on ${inDays(1)}`)]);
  });

  test('an OAuth app cannot exchange codes, until its secret is rotated', async () => {
    await t.close();
    t = await testApp();
    const owner = await peopleOf(t).owner();
    const redirect_uri = 'https://reports.example.com/cb';
    const made = await owner.call('oauth_apps.create', {
      name: 'Reports',
      redirect_uris: [redirect_uri],
      confidential: true,
      expires_in_days: 1,
    });
    const signIn = async (secret: string) => {
      const browser = createBrowser(t);
      await browser.signIn('ada', PASSWORD);
      const code = await browser.code({ client_id: made.client_id, redirect_uri });
      const headers = { authorization: `Basic ${btoa(`${made.client_id}:${secret}`)}` };
      return post(t, '/oauth/token', exchanged(code, { client_id: made.client_id, redirect_uri }), headers);
    };
    expect((await signIn(String(made.client_secret))).status).toBe(200);
    const rotated = await owner.call('oauth_apps.rotate', { id: made.id });
    expect(rotated).toMatchObject({ expires_at: inDays(90), rotation_ends_at: inDays(1) });
    expect((await signIn(String(made.client_secret))).status).toBe(200);
    t.advance(DAY_MS);
    const refused = await signIn(String(made.client_secret));
    expect(refused.body).toMatchObject({ error: 'invalid_client', error_description: expect.stringContaining(inDays(1)) });
    expect((await signIn(String(rotated.client_secret))).status).toBe(200);
  });
});

describe('ends that are near', () => {
  const notices = async () =>
    (await t.call('notices.events', { event: 'token_expiring' })).items.map(({ message }) => message).toReversed();

  test('are noticed once at 30, 7 and 1 days, and only as often as the lifetime is longer', async () => {
    await createToken({ name: 'Long' });
    await createToken({ name: 'Short', expires_in_days: 5 });
    for (let day = 0; day <= 91; day++) {
      await lookAtTokenEnds(t.app);
      await lookAtTokenEnds(t.app);
      t.advance(DAY_MS);
      if (day % 10 === 0) await t.signIn();
    }
    await t.signIn();
    expect(await notices()).toEqual([
      '1 credential ends within 1 day: Short.',
      '1 credential ends within 30 days: Long.',
      '1 credential ends within 7 days: Long.',
      '1 credential ends within 1 day: Long.',
    ]);
  });

  test('are listed, the next first, without revoked and ended ones', async () => {
    await createToken({ name: 'Later', expires_in_days: 31 });
    await createToken({ name: 'Soon', expires_in_days: 20 });
    await createClient({ name: 'Sooner', expires_in_days: 3 });
    const { body: gone } = await createToken({ name: 'Gone', expires_in_days: 2 });
    await t.call('mcp_tokens.delete', { id: gone.id });
    await createToken({ name: 'Over', expires_in_days: 1 });
    await nextDay();
    const names = async (input = {}) =>
      (await t.call('credentials.ending', input)).items.map(({ name, type }) => `${type} ${name}`);
    expect(await names()).toEqual(['oauth_client Sooner', 'mcp_token Soon', 'mcp_token Later']);
    expect(await names({ skip: 1, limit: 1 })).toEqual(['mcp_token Soon']);
    expect((await t.call('credentials.ending', {})).total).toBe(3);
    expect((await t.send('credentials.ending', {}, { anonymous: true })).status).toBe(401);
  });

  test('of credentials from before the upgrade are set once, counted from then, and never in the past', async () => {
    const { mcp_tokens, agent_clients } = t.app.store.tables;
    const { body: token } = await createToken();
    const { body: client } = await createClient();
    for (const table of [mcp_tokens, agent_clients])
      await t.app.store.write((tx) => tx.update(table).set({ expires_at: null, created_at: '2020-01-01T00:00:00.000Z' }));
    const sent: (string | null)[] = [];
    t.app.hosts.connect('h1', (event) => {
      if (event.event === 'tokens') sent.push(...event.data.tokens.map(({ expires_at }) => expires_at));
    });
    await lookAtTokenEnds(t.app);
    expect(sent).toEqual([inDays(90)]);
    await nextDay();
    await lookAtTokenEnds(t.app);
    expect((await t.call('mcp_tokens.list', {})).items).toMatchObject([{ id: token.id, expires_at: inDays(90) }]);
    expect((await t.call('oauth_clients.list', {})).items).toMatchObject([{ id: client.id, expires_at: inDays(90) }]);
  });
});
