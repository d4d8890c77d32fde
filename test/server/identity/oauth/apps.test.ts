import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type TestApp, testApp } from '#test/support/app.ts';
import { type Member, PASSWORD, peopleOf } from '#test/support/people.ts';
import { createBrowser, exchanged, post, refreshed } from '#test/support/sign-in.ts';

let t: TestApp;
let owner: Member;
beforeAll(async () => {
  t = await testApp();
  owner = await peopleOf(t).owner();
});
afterAll(() => t.close());

const REDIRECT = 'https://reports.example.com/cb';
interface Made extends Record<string, unknown> {
  id: string;
  client_id: string;
  client_secret: string;
}
const make = async (name: string, more: object = {}): Promise<Made> => {
  const { status, body } = await owner.send('oauth_apps.create', {
    name,
    redirect_uris: [REDIRECT],
    confidential: true,
    ...more,
  });
  expect(status).toBe(201);
  return body as Made;
};
const basic = (client_id: string, secret: string) => ({ authorization: `Basic ${btoa(`${client_id}:${secret}`)}` });
/** Signs a person in with the app. @returns the answer of the token endpoint. */
const signIn = async (client_id: string, headers = {}, at = t) => {
  const browser = createBrowser(at);
  await browser.signIn('ada', PASSWORD);
  const code = await browser.code({ client_id, redirect_uri: REDIRECT });
  return post(at, '/oauth/token', exchanged(code, { client_id, redirect_uri: REDIRECT }), headers);
};
const historyOf = async (id: string) => (await owner.call('history.list', { entity_type: 'oauth_app', entity_id: id })).items;
const rollback = (entry: { id: string } | undefined, more: object = {}, member = owner) =>
  member.send('history.rollback', { history_id: String(entry?.id), ...more });

describe('a secret of an OAuth app', () => {
  test('is renewed by administrators: the new one works, the one before does not', async () => {
    const { id, client_id, client_secret } = await make('Renewed');
    expect((await signIn(client_id, basic(client_id, client_secret))).status).toBe(200);
    const editor = await peopleOf(t).join(owner, { username: 'eve', role: 'editor' });
    expect((await editor.send('oauth_apps.renew_secret', { id })).status).toBe(403);
    expect((await owner.send('oauth_apps.renew_secret', { id, version: 7 })).status).toBe(409);
    expect((await owner.send('oauth_apps.renew_secret', { id: 'nothing' })).status).toBe(404);
    const renewed = await owner.call('oauth_apps.renew_secret', { id, version: 1 });
    expect(renewed).toMatchObject({ version: 2, client_secret_set: true });
    expect((await signIn(client_id, basic(client_id, client_secret))).body['error']).toBe('invalid_client');
    expect((await signIn(client_id, basic(client_id, String(renewed.client_secret)))).status).toBe(200);
    const [entry] = await historyOf(id);
    expect(entry).toMatchObject({ action: 'update', changes: { client_secret: { old: '[redacted]', new: '[redacted]' } } });
    const open = await owner.call('oauth_apps.create', { name: 'Open', redirect_uris: [REDIRECT] });
    expect((await owner.send('oauth_apps.renew_secret', { id: open.id })).status).toBe(409);
  });
});

describe('the history of an OAuth app', () => {
  test('rolls changes back, and a deletion with its secret; grants stay ended', async () => {
    const { id, client_id, client_secret } = await make('Undone');
    const granted = await signIn(client_id, basic(client_id, client_secret));
    await owner.call('oauth_apps.update', { id, trusted: true, redirect_uris: ['https://other.example.com/cb'] });
    const [updated] = await historyOf(id);
    const dry = await rollback(updated, { dry_run: true });
    expect(dry.body.entity).toMatchObject({ trusted: false });
    expect((await rollback(updated)).body.entity).toMatchObject({ trusted: false, redirect_uris: [REDIRECT], version: 3 });
    expect((await owner.send('oauth_apps.delete', { id })).status).toBe(204);
    const back = await rollback((await historyOf(id))[0]);
    expect([back.status, back.body.entity]).toEqual([200, expect.objectContaining({ client_id, client_secret_set: true })]);
    expect(JSON.stringify(back.body)).not.toMatch(/secret_digest|\$sealed|svc_as_/);
    const old = refreshed(String(granted.body['refresh_token']), { client_id });
    expect((await post(t, '/oauth/token', old, basic(client_id, client_secret))).body['error']).toBe('invalid_grant');
    expect((await signIn(client_id, basic(client_id, client_secret))).status).toBe(200);
  });

  test('rolls a creation back: its grants end, and hosts are told', async () => {
    const { id, client_id, client_secret } = await make('Gone');
    const granted = await signIn(client_id, basic(client_id, client_secret));
    const heard: string[] = [];
    const leave = t.app.hosts.connect('h1', (event) => heard.push(JSON.stringify(event)));
    expect((await rollback((await historyOf(id))[0])).status).toBe(200);
    leave();
    expect(heard.some((event) => event.includes(`"client_id":"${client_id}"`))).toBe(true);
    expect((await owner.call('oauth_apps.list', {})).items).not.toContainEqual(expect.objectContaining({ id }));
    const again = refreshed(String(granted.body['refresh_token']), { client_id });
    expect((await post(t, '/oauth/token', again, basic(client_id, client_secret))).status).toBe(401);
  });

  test('is rolled back by no editor and no token', async () => {
    const { id } = await make('Kept');
    const editor = await peopleOf(t).join(owner, { username: 'ed', role: 'editor' });
    const [entry] = await historyOf(id);
    expect((await rollback(entry, {}, editor)).status).toBe(403);
    const token = await owner.call('agent_tokens.create', {
      name: 'bot',
      duration_minutes: 60,
      scopes: ['read', 'write', 'deploy'],
    });
    const bot = await t.send(
      'history.rollback',
      { history_id: String(entry?.id) },
      { anonymous: true, headers: { authorization: `Bearer ${token.token}` } },
    );
    expect([bot.status, JSON.stringify(bot.body)]).toEqual([403, expect.stringContaining('administrator')]);
    expect(await historyOf(id)).toHaveLength(1);
  });
});

describe('an export with OAuth apps', () => {
  test('holds no secret, and an import names the secrets that are missing', async () => {
    const { client_id, client_secret } = await make('Exported', { trusted: true });
    const editor = await peopleOf(t).join(owner, { username: 'exeditor', role: 'editor' });
    const theirs = await editor.call('transfer.export', {});
    expect(JSON.stringify(theirs)).not.toContain('oauth_apps');
    const exported = await owner.call('transfer.export', {});
    expect(JSON.stringify(exported)).not.toMatch(/svc_as_|secret_digest|\$sealed/);

    const other = await testApp();
    const admin = await peopleOf(other).owner();
    const send = (query: string, body: unknown = exported) => admin.ask('POST', `export-import/import?${query}`, body);
    const report = await send('include_server_config=true');
    expect(report.status).toBe(200);
    expect(JSON.stringify(report.body['needs_secrets'])).toContain('oauth_apps.Exported.client_secret');
    const { items } = await admin.call('oauth_apps.list', {});
    const copy = items.find(({ name }) => name === 'Exported');
    expect(copy).toMatchObject({
      client_id,
      redirect_uris: [REDIRECT],
      confidential: true,
      trusted: true,
      client_secret_set: false,
    });
    // Nobody comes in with it, with the old secret or with none, before it has one.
    for (const headers of [{}, basic(client_id, client_secret), basic(client_id, '')]) {
      const answer = await signIn(client_id, headers, other);
      expect([answer.status, answer.body['error']]).toEqual([401, 'invalid_client']);
    }
    const body = await admin.call('oauth_apps.renew_secret', { id: String(copy?.id) });
    expect((await signIn(client_id, basic(client_id, String(body.client_secret)), other)).status).toBe(200);

    await admin.call('oauth_apps.update', { id: String(copy?.id), trusted: false });
    const counts = async (query: string) => (await send(query)).body['updated'];
    expect(await counts('include_server_config=true')).toMatchObject({ server_config: 0 });
    expect(await counts('include_server_config=true&mode=overwrite')).toMatchObject({ server_config: 1 });
    expect(await counts('include_server_config=true&mode=overwrite')).toMatchObject({ server_config: 0 });
    const config = {
      ...(exported.server_config as object),
      oauth_apps: [{ name: 'Twin', client_id, redirect_uris: [REDIRECT] }],
    };
    const twin = await send('include_server_config=true', { ...exported, server_config: config });
    expect([twin.status, twin.body.detail]).toEqual([
      422,
      expect.stringContaining('Another OAuth app already has the client ID'),
    ]);
    const local = { ...config, oauth_apps: [{ name: 'Local', redirect_uris: ['http://127.0.0.1/cb'], trusted: true }] };
    const warned = await send('include_server_config=true', { ...exported, server_config: local });
    expect(JSON.stringify(warned.body['warnings'])).toContain('The OAuth app Local has no https address');
    const apps = (await admin.call('oauth_apps.list', {})).items;
    expect(apps.find(({ name }) => name === 'Local')).toMatchObject({ trusted: false });
    const bad = { ...config, oauth_apps: [{ name: 'Bad', redirect_uris: ['javascript:alert(1)'] }] };
    expect((await send('include_server_config=true', { ...exported, server_config: bad })).status).toBe(422);
    await other.close();
  });

  test('is undone as a whole from the history', async () => {
    const other = await testApp();
    const admin = await peopleOf(other).owner();
    const exported = await owner.call('transfer.export', {});
    await admin.call('transfer.import', { include_server_config: true, ...exported });
    expect((await admin.call('oauth_apps.list', {})).total).toBeGreaterThan(0);
    const [entry] = (await admin.call('history.list', { entity_type: 'oauth_app' })).items;
    expect((await rollback(entry, {}, admin)).status).toBe(200);
    expect((await admin.call('oauth_apps.list', {})).total).toBe(0);
    await other.close();
  });
});
