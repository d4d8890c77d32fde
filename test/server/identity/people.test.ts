import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { MOST_GROUPS, MOST_PEOPLE } from '#core/contract/identity/people.ts';
import { listEnded } from '#core/identity/oauth/published.ts';
import { newPerson } from '#core/identity/account.ts';
import { type Answer, type TestApp, testApp } from '#test/support/app.ts';
import { type Member, peopleOf } from '#test/support/people.ts';

let t: TestApp;
let owner: Member;
beforeEach(async () => {
  t = await testApp();
  owner = await peopleOf(t).owner();
});
afterEach(() => t.close());

const invited = (role: string, username: string = role) => peopleOf(t).join(owner, { role, username });
const codeOf = ({ status, body }: Answer) => [status, body.code];
const entries = async () =>
  (await t.app.store.db.select().from(t.app.store.tables.history).orderBy(t.app.store.tables.history.id)).filter(
    (e) => e.entity_type === 'admin',
  );

describe('people', () => {
  test('are created, listed, read, changed and removed', async () => {
    const draft = {
      username: 'grace',
      display_name: 'Grace',
      email: 'grace@example.com',
      role: 'editor',
      groups: ['sales', 'emea'],
    };
    const created = await owner.send('people.create', draft);
    expect<unknown[]>([created.status, created.body]).toEqual([
      201,
      {
        ...draft,
        id: expect.any(String),
        enabled: true,
        sign_in: 'password',
        can_sign_in: false,
        totp_enabled: false,
        invite_expires_at: null,
        last_seen_at: null,
        version: 1,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
    ]);
    const id = created.body.id;
    expect(await owner.call('people.get', { id })).toEqual(created.body);
    expect(await owner.call('people.list', {})).toMatchObject({
      total: 2,
      items: [{ username: 'ada', role: 'owner' }, { id }],
    });
    for (const [query, total] of [
      ['role=editor', 1],
      ['role=viewer', 0],
      ['group=sales', 1],
      ['group=sale', 0],
      ['search=GRACE', 1],
      ['search=example.com', 1],
      ['enabled=false', 0],
    ] as const) {
      expect([query, (await owner.ask('GET', `people?${query}`)).body['total']]).toEqual([query, total]);
    }
    // What was read may be sent back whole.
    const changed = await owner.ask('PATCH', `people/${id}`, { ...created.body, display_name: null, groups: ['sales'] });
    expect([changed.status, changed.body]).toMatchObject([200, { display_name: null, groups: ['sales'], version: 2 }]);
    expect((await owner.send('people.update', { id, version: 1, role: 'viewer' })).status).toBe(409);
    expect((await owner.send('people.delete', { id })).status).toBe(204);
    expect((await owner.send('people.get', { id })).status).toBe(404);
    expect((await owner.send('people.delete', { id })).status).toBe(404);
    expect((await entries()).map(({ action, entity_name }) => [action, entity_name])).toEqual([
      ['create', 'ada'],
      ['create', 'grace'],
      ['update', 'grace'],
      ['delete', 'grace'],
    ]);
  });

  test('say at its field what is wrong', async () => {
    for (const [body, field] of [
      [{ username: '' }, 'username'],
      [{ username: 'eve', role: 'root' }, 'role'],
      [{ username: 'eve', email: 'no address' }, 'email'],
      [{ username: 'eve', groups: ['a', 'a'] }, 'groups'],
      [{ username: 'eve', groups: [' a'] }, 'groups.0'],
      [{ username: 'eve', groups: Array.from({ length: MOST_GROUPS + 1 }, (_, n) => `g${n}`) }, 'groups'],
      [{ username: 'eve', password: 'hunter2 hunter2' }, 'password'],
    ] as const) {
      const answer = await owner.send('people.create', body);
      expect([answer.status, answer.body.errors]).toMatchObject([422, [{ field }]]);
    }
    // Two names that look the same in the history are one to its reader.
    const taken = await owner.send('people.create', { username: 'ＡDA' });
    expect([taken.status, taken.body.errors]).toMatchObject([409, [{ field: 'username' }]]);
    expect((await owner.call('people.list', {})).total).toBe(1);
  });

  test('are at most a thousand', async () => {
    const { people } = t.app.store.tables;
    const rows = Array.from({ length: MOST_PEOPLE - 1 }, (_, n) => newPerson(t.app.ids(), `person ${n}`, 'caller', ''));
    await t.app.store.write((tx) => tx.insert(people).values(rows));
    expect((await owner.send('people.create', { username: 'one too many' })).status).toBe(409);
  });

  test('of two people with one name at the same moment one is made', async () => {
    const answers = await Promise.all(['eve', 'Eve', 'EVE'].map((username) => owner.send('people.create', { username })));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409]);
  });

  test('an edit that met another one is refused, as with any record', async () => {
    const { id } = await invited('viewer');
    const answers = await Promise.all(
      ['a', 'b', 'c'].map((group) => owner.send('people.update', { id, version: 2, groups: [group] })),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409]);
  });
});

describe('owners', () => {
  test('at least one who can sign in remains', async () => {
    for (const change of [{ role: 'admin' }, { enabled: false }] as const) {
      expect((await owner.send('people.update', { id: owner.id, ...change })).status).toBe(409);
    }
    // Somebody who has not accepted the invitation cannot sign in, so does not count.
    const waiting = await owner.call('people.create', { username: 'waiting', role: 'owner' });
    expect((await owner.send('people.update', { id: owner.id, role: 'admin' })).status).toBe(409);
    const second = await invited('owner', 'second');
    expect((await owner.send('people.update', { id: owner.id, role: 'admin' })).status).toBe(200);
    // The first one is an administrator now, and may do nothing to owners any more.
    expect(codeOf(await owner.send('people.update', { id: second.id, enabled: false }))).toEqual([403, 'role_required']);
    expect(codeOf(await owner.send('people.delete', { id: waiting.id }))).toEqual([403, 'role_required']);
  });

  test('two who demote each other at the same moment do not leave none', async () => {
    for (let round = 0; round < 5; round++) {
      const second = await invited('owner', `second ${round}`);
      const answers = await Promise.all([
        owner.send('people.update', { id: second.id, enabled: false }),
        second.send('people.update', { id: owner.id, enabled: false }),
        owner.send('people.update', { id: owner.id, role: 'viewer' }),
        second.send('people.update', { id: second.id, role: 'viewer' }),
      ]);
      expect(answers.every(({ status }) => [200, 401, 403, 409].includes(status))).toBe(true);
      const { people } = t.app.store.tables;
      const rows = await t.app.store.db.select().from(people);
      const left = rows.filter((row) => row.role === 'owner' && row.enabled);
      expect(left.length).toBeGreaterThan(0);
      await t.app.store.write((tx) => tx.update(people).set({ enabled: true, role: 'owner' }));
      await owner.signIn();
    }
  }, 60_000);

  test('are made, changed, invited and put out by owners alone', async () => {
    const admin = await invited('admin');
    const second = await invited('owner', 'second');
    const viewer = await invited('viewer');
    for (const [method, path, body] of [
      ['POST', 'people', { username: 'eve', role: 'owner' }],
      ['PATCH', `people/${viewer.id}`, { role: 'owner' }],
      ['PATCH', `people/${admin.id}`, { role: 'owner' }],
      ['PATCH', `people/${second.id}`, { display_name: 'Mine' }],
      ['PATCH', `people/${second.id}`, { role: 'viewer' }],
      ['DELETE', `people/${second.id}`, undefined],
      ['POST', `people/${second.id}/invite`, {}],
      ['POST', `people/${second.id}/reset-2fa`, {}],
      ['DELETE', `people/${second.id}/sessions`, undefined],
    ] as const) {
      expect([path, ...codeOf(await admin.ask(method, path, body))]).toEqual([path, 403, 'role_required']);
    }
    expect(await second.call('auth.me', {})).toMatchObject({ role: 'owner', display_name: null });
    expect((await admin.send('people.update', { id: viewer.id, role: 'admin' })).status).toBe(200);
  });

  test('nobody takes over their own account for good with a session alone', async () => {
    for (const [method, path, body] of [
      ['POST', `people/${owner.id}/invite`, {}],
      ['POST', `people/${owner.id}/reset-2fa`, {}],
      ['PATCH', `people/${owner.id}`, { username: 'mallory' }],
      ['DELETE', `people/${owner.id}`, undefined],
    ] as const) {
      expect([path, (await owner.ask(method, path, body)).status]).toEqual([path, 409]);
    }
  });
});

describe('a change of a person holds at the next request', () => {
  test('of role, groups, enabled, and the end of all sessions', async () => {
    const person = await invited('editor', 'grace');
    expect((await person.send('tools.list')).status).toBe(200);
    await owner.call('people.update', { id: person.id, role: 'caller', groups: ['sales'] });
    expect((await person.send('tools.list')).status).toBe(403);
    expect(await person.call('auth.me', {})).toMatchObject({ role: 'caller', groups: ['sales'] });
    expect((await owner.send('people.end_sessions', { id: person.id })).status).toBe(204);
    expect((await person.send('auth.me')).status).toBe(401);
    await person.signIn();
    expect((await person.send('auth.me')).status).toBe(200);
    await owner.call('people.update', { id: person.id, enabled: false });
    expect((await person.send('auth.me')).status).toBe(401);
    expect((await person.signIn()).status).toBe(403);
    // Enabled again, the old session stays ended.
    await owner.call('people.update', { id: person.id, enabled: true });
    expect((await person.send('auth.me')).status).toBe(401);
    await person.signIn();
    await owner.call('people.delete', { id: person.id });
    expect((await person.send('auth.me')).status).toBe(401);
    expect((await person.signIn()).status).toBe(401);
  });

  test('and the access tokens that MCP clients hold of the person end', async () => {
    const person = await invited('editor', 'grace');
    const ended = async () => (await listEnded(t.app)).map((entry) => entry.sub);
    await owner.call('people.update', { id: person.id, username: 'hopper' });
    expect(await ended()).toEqual([]);
    await owner.call('people.update', { id: person.id, groups: ['sales'] });
    expect(await ended()).toEqual([person.id]);
    const other = await invited('caller');
    await owner.call('people.delete', { id: other.id });
    expect(new Set(await ended())).toEqual(new Set([person.id, other.id]));
  });

  test('what happened to people and credentials is read by administrators alone', async () => {
    const [admin, viewer] = [await invited('admin'), await invited('viewer')];
    await owner.call('mcp_tokens.create', { name: 'laptop', all_toolsets: true });
    await owner.call('config.update', { server_name: 'Shop' });
    const typesFor = async (person: Member) => {
      const { items, total } = await person.call('history.list', {});
      return { types: [...new Set(items.map(({ entity_type }) => entity_type))].toSorted(), total };
    };
    expect(await typesFor(admin)).toEqual({ types: ['admin', 'mcp_token', 'server_config'], total: 9 });
    expect(await typesFor(viewer)).toEqual({ types: ['server_config'], total: 1 });
    expect((await viewer.send('history.entity', { entity_type: 'admin', entity_id: admin.id })).status).toBe(404);
    expect((await viewer.call('history.list', { search: 'admin' })).total).toBe(0);
    // Nor by a token, whoever made it.
    const token = await owner.call('agent_tokens.create', { name: 'script', duration_minutes: 60, scopes: ['read'] });
    const headers = { authorization: `Bearer ${token.token}` };
    const read = (path: string) => t.request('GET', `/api/v1/${path}`, { anonymous: true, headers });
    expect(await t.call('history.list', {}, { anonymous: true, headers })).toMatchObject({
      total: 1,
      items: [{ entity_type: 'server_config' }],
    });
    const { items } = await owner.call('history.list', {});
    for (const entity_type of ['admin', 'mcp_token', 'agent_token']) {
      const { id = '' } = items.find((entry) => entry.entity_type === entity_type) ?? {};
      expect(id).not.toBe('');
      for (const query of [`entity_type=${entity_type}`, `history_id=${id}`])
        expect([query, (await read(`history?${query}`)).body['total']]).toEqual([query, 0]);
    }
    expect(
      (await t.send('history.entity', { entity_type: 'admin', entity_id: admin.id }, { anonymous: true, headers })).status,
    ).toBe(404);
  });

  test('history names who did it, and a person cannot be rolled back', async () => {
    const admin = await invited('admin');
    const viewer = await invited('viewer');
    await admin.call('people.update', { id: viewer.id, role: 'editor' });
    const { items } = await admin.call('history.entity', { entity_type: 'admin', entity_id: viewer.id });
    expect(items[0]).toMatchObject({
      actor: { type: 'admin', id: admin.id, name: 'admin' },
      changes: { role: { old: 'viewer', new: 'editor' } },
    });
    const refused = await admin.send('history.rollback', { history_id: String(items[0]?.id) });
    expect([refused.status, refused.body.detail]).toEqual([422, expect.stringContaining('person cannot be rolled back')]);
    expect(JSON.stringify(items)).not.toMatch(/argon2|svc_invite|digest/);
    const exported = await owner.call('transfer.export', {});
    expect(JSON.stringify(exported)).not.toContain('viewer');
  });
});

test('what OAuth clients say of their callers is read by administrators alone', async () => {
  const secret_value = 'tenant-4711';
  const client = {
    client_id: 'reports',
    client_secret: 's'.repeat(32),
    claims: { tenant: secret_value, plan: { name: secret_value } },
  };
  expect((await owner.ask('PATCH', 'server/config', { oauth_clients: [client] })).status).toBe(200);
  expect((await owner.ask('POST', 'deploy', {})).status).toBe(200);
  const other = { ...client, claims: { tenant: `${secret_value}-b` } };
  expect((await owner.ask('PATCH', 'server/config', { oauth_clients: [other] })).status).toBe(200);
  const { body: agent } = await owner.ask('POST', 'agent-tokens', {
    name: 'ci',
    duration_minutes: 60,
    scopes: ['read', 'write', 'deploy'],
  });
  const headers = { authorization: `Bearer ${String(agent['token'])}` };
  const readers = [
    await invited('viewer'),
    await invited('editor'),
    {
      ask: (method: string, path: string, body?: object) =>
        t.request(method, `/api/v1/${path}`, { anonymous: true, headers, ...(body && { body }) }),
    },
  ];
  const places = [
    'server/config',
    'history',
    'history/server_config/server_config',
    'deploy/diff',
    'snapshots/1',
    'export-import/export',
  ];
  for (const path of places)
    expect([path, JSON.stringify((await owner.ask('GET', path)).body).includes(secret_value)]).toEqual([path, true]);
  for (const reader of readers) {
    for (const path of places) {
      const { status, body } = await reader.ask('GET', path);
      expect([path, status === 200 || status === 403, JSON.stringify(body).includes(secret_value)]).toEqual([path, true, false]);
    }
  }
  const [viewer, , token] = readers;
  const { body: shown } = (await viewer?.ask('GET', 'server/config')) ?? {};
  expect(shown?.['oauth_clients']).toMatchObject([{ client_id: 'reports', claims: { tenant: '[redacted]' } }]);
  // What was read without values changes nothing when it is sent back, in a patch and in an import.
  const sent = shown?.['oauth_clients'] as object[];
  expect((await token?.ask('PATCH', 'server/config', { oauth_clients: sent }))?.status).toBe(200);
  const exported = (await token?.ask('GET', 'export-import/export'))?.body ?? {};
  expect((await owner.ask('POST', 'export-import/import?mode=overwrite', exported)).status).toBe(200);
  const { body: kept } = await owner.ask('GET', 'server/config');
  expect(kept['oauth_clients']).toMatchObject([{ claims: other.claims }]);
});
