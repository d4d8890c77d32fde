import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { storedConfiguration } from '#test/support/configuration.ts';
import { namedStores } from '#test/support/metadata.ts';
import { approve, ordersTool, type ProposingShop, proposingShop, within } from './shop.ts';

describe.each(namedStores)('what a token proposes (%s)', (metadata) => {
  let shop: ProposingShop;
  let agent: string;
  beforeAll(async () => {
    shop = await proposingShop({ metadata });
    agent = await shop.token();
  });
  afterAll(() => shop.t.close());
  const tools = async () => (await shop.t.call('tools.list', {})).items;
  const proposal = async (id: unknown) => await shop.t.call('proposals.get', { id: String(id) });

  test('what a token proposes is stored only as a proposal until approval applies it with both names', async () => {
    const before = await storedConfiguration(shop.t.app);
    const note = { 'x-proposal-note': encodeURIComponent('Support asks for orders — every day') };
    const created = await shop.as(agent).send('tools.create', ordersTool(shop.connection_id), { headers: note });
    expect([created.status, created.body]).toMatchObject([202, { name: 'find_orders', version: 1, proposed: true }]);
    const { id, proposal_id } = created.body;
    const tested = await shop.as(agent).send('tests.create', {
      owner: { kind: 'tool', id },
      name: 'orders of ada',
      arguments: { customer: 'ada' },
      expect: { rows: { min: 2, max: 2 } },
    });
    expect([tested.status, tested.body]).toMatchObject([202, { owner_name: 'find_orders', proposal_id }]);
    const ran = await shop.as(agent).send('tests.run', { owner: { kind: 'tool', id } });
    expect([ran.status, ran.body]).toMatchObject([200, { passed: 1, failed: 0, results: [{ name: 'orders of ada', rows: 2 }] }]);
    const changed = await shop.as(agent).send('tools.update', { id, title: 'Orders', version: 1 });
    expect(changed.body).toMatchObject({ id, title: 'Orders', version: 2, proposal_id });

    expect(await storedConfiguration(shop.t.app)).toEqual(before);
    expect(await shop.as(agent).call('tools.list', {})).toMatchObject({ total: 0 });
    const inside = await shop.as(agent).call('tools.list', {}, within(String(proposal_id)));
    expect(inside.items).toMatchObject([{ id, title: 'Orders' }]);
    const listed = await shop.t.call('proposals.list', { state: 'open' });
    expect(listed).toMatchObject({
      total: 1,
      open: 1,
      items: [
        {
          id: proposal_id,
          title: 'Support asks for orders — every day',
          operation_count: 3,
          author: { name: 'Claude' },
          version: 3,
        },
      ],
    });
    expect(await proposal(proposal_id)).toMatchObject({
      operations: [
        { position: 1, operation: 'tools.create', summary: 'Create tool find_orders' },
        { position: 2, operation: 'tests.create', summary: 'Create test orders of ada' },
        { position: 3, operation: 'tools.update', summary: 'Change tool find_orders' },
      ],
      // Nothing is deployed, so callers do not reach its connection yet.
      diff: [
        { entity_type: 'connection', name: 'shop', change: 'added' },
        { entity_type: 'tool', name: 'find_orders', change: 'added' },
      ],
      tests: [{ name: 'orders of ada', status: 'passed' }],
      test_changes: [{ name: 'orders of ada', change: 'added' }],
      findings: [],
      stale: [],
      problem: null,
    });

    const approved = await shop.t.send('proposals.approve', { id: String(proposal_id), version: 3, comment: 'Thank you.' });
    expect([approved.status, approved.body]).toMatchObject([200, { status: 'approved', closed_by: 'ada', operation_count: 3 }]);
    expect(await tools()).toMatchObject([{ id, name: 'find_orders', title: 'Orders', version: 2 }]);
    const history = (await shop.t.call('history.entity', { entity_type: 'tool', entity_id: id })).items;
    expect(history).toMatchObject([
      { action: 'update', actor: { type: 'admin', name: 'ada', proposal: { id: proposal_id, author: 'Claude' } } },
      { action: 'create', actor: { type: 'admin', name: 'ada', proposal: { id: proposal_id, author: 'Claude' } } },
    ]);
    expect(await proposal(proposal_id)).toMatchObject({
      status: 'approved',
      operations: [{ position: 1 }, { position: 2 }, { position: 3 }],
      diff: [{ name: 'shop' }, { name: 'find_orders' }],
      comments: [{ text: 'Thank you.', author: { name: 'ada' } }],
    });
    const again = await approve(shop, proposal_id);
    expect([again.status, again.body.detail]).toEqual([409, 'The proposal is already approved.']);
  });

  test('is refused as a real write would be, in the same words, and then nothing is proposed', async () => {
    const open = (await shop.t.call('proposals.list', { state: 'open' })).total;
    const everyone = await shop.token(['read', 'write', 'deploy'], 'Writer');
    const wrong: [string, string, object][] = [
      ['POST', '/tools', ordersTool(shop.connection_id)],
      ['POST', '/tools', ordersTool(shop.connection_id, { name: 'other', sql_query: 'selec' })],
      ['POST', '/tools', ordersTool('0199', { name: 'other' })],
      ['PATCH', '/server/config', { auth_type: 'bearer' }],
      ['PATCH', '/server/config', { server_nam: 'x' }],
      ['PATCH', `/connections/${shop.connection_id}`, { database: '../shop.sqlite' }],
    ];
    for (const [method, path, body] of wrong) {
      const [said, direct] = [
        await shop.as(agent).request(method, path, body),
        await shop.as(everyone).request(method, path, body),
      ];
      expect([path, said.status, said.body['detail'], said.body['code']]).toEqual([
        path,
        direct.status,
        direct.body['detail'],
        direct.body['code'],
      ]);
      expect(said.status).toBeGreaterThanOrEqual(400);
    }
    expect((await shop.t.call('proposals.list', { state: 'open' })).total).toBe(open);
  });

  test('gathers where it says, or for half an hour in the open one of its token', async () => {
    const variables = (name: string) => ({ server_name: name });
    const first = await shop.as(agent).send('config.update', variables('One'));
    const second = await shop.as(agent).send('config.update', variables('Two'));
    expect(second.body.proposal_id).toBe(first.body.proposal_id);
    shop.t.advance(31 * 60_000);
    const later = await shop.as(agent).send('config.update', variables('Three'));
    expect(later.body.proposal_id).not.toBe(first.body.proposal_id);
    const named = await shop.as(agent).send('config.update', variables('Four'), {
      headers: {
        'x-proposal-id': String(first.body.proposal_id),
      },
    });
    expect(named.body.proposal_id).toBe(first.body.proposal_id);
    const fresh = await shop.as(agent).send('config.update', variables('Five'), within('new'));
    expect([first, later].map(({ body }) => body.proposal_id)).not.toContain(fresh.body.proposal_id);
    const other = await shop.token(['propose'], 'Other');
    const foreign = await shop.as(other).send('config.update', variables('Six'), {
      headers: {
        'x-proposal-id': String(fresh.body.proposal_id),
      },
    });
    expect(foreign.status).toBe(403);
    const own = await shop.as(other).send('config.update', variables('Six'));
    expect([own.status, (await shop.t.call('config.get', {})).server_name]).not.toContain('Six');
    for (const { body } of [first, later, fresh, own]) {
      const rejected = await shop.t.send('proposals.reject', { id: String(body.proposal_id) });
      expect([rejected.status, rejected.body.status]).toEqual([200, 'rejected']);
    }
    const closed = await shop.as(agent).send('config.update', variables('Seven'), {
      headers: {
        'x-proposal-id': String(later.body.proposal_id),
      },
    });
    expect([closed.status, String(closed.body.detail)]).toEqual([409, expect.stringContaining('already rejected')]);
  });

  test('that is stale names the record that moved, and can be approved after its author rebased it', async () => {
    const [tool] = await tools();
    const { body } = await shop.as(agent).send('tools.update', { id: String(tool?.id), title: 'Purchases' });
    const id = String(body.proposal_id);
    expect(
      (
        await shop.t.send('tools.update', {
          id: String(tool?.id),
          description: 'Finds orders of a customer, newest first, with their totals.',
        })
      ).status,
    ).toBe(200);
    expect(await proposal(id)).toMatchObject({
      stale: [{ entity_type: 'tool', entity_name: 'find_orders', message: 'tool find_orders is now at version 3, not 2.' }],
    });
    const refused = await approve(shop, id);
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining('tool find_orders is now at version 3')]);
    const rebased = await shop.as(agent).send('proposals.rebase', { id });
    expect([rebased.status, rebased.body]).toMatchObject([200, { version: 2 }]);
    const early = await shop.t.send('proposals.approve', { id, version: 1 });
    expect([early.status, early.body.detail]).toEqual([409, expect.stringContaining('version 2')]);
    expect((await shop.t.send('proposals.approve', { id, version: 2 })).status).toBe(200);
    expect(await tools()).toMatchObject([{ title: 'Purchases', description: expect.stringContaining('totals'), version: 4 }]);
  });

  test('cannot delete more than was reviewed: a connection that owns another tool by now is stale', async () => {
    const { body } = await shop.as(agent).send('connections.delete', { id: shop.connection_id });
    expect(body).toMatchObject({ proposed: true });
    const id = String(body.proposal_id);
    expect((await proposal(id)).operations).toMatchObject([
      { touched: expect.arrayContaining([expect.objectContaining({ entity_type: 'tool' })]) },
    ]);
    expect((await shop.t.send('tools.create', ordersTool(shop.connection_id, { name: 'later' }))).status).toBe(201);
    const refused = await approve(shop, id);
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining('tool later')]);
    expect((await tools()).length).toBe(2);
    await shop.t.call('proposals.reject', { id });
  });

  test('that no longer applies says why; all of an approval happens or nothing', async () => {
    const first = await shop.as(agent).send('tools.create', ordersTool(shop.connection_id, { name: 'first' }));
    await shop.as(agent).send('tools.create', ordersTool(shop.connection_id, { name: 'second' }));
    expect((await shop.t.send('tools.create', ordersTool(shop.connection_id, { name: 'second' }))).status).toBe(201);
    const id = String(first.body.proposal_id);
    const problem =
      'Operation 2 of the proposal cannot be applied any more: Another tool already has this name. Choose another one.';
    expect(await proposal(id)).toMatchObject({ problem, diff: [] });
    const refused = await approve(shop, id);
    expect([refused.status, refused.body.detail]).toEqual([409, problem]);
    expect((await tools()).map(({ name }) => name)).toEqual(['find_orders', 'later', 'second']);
    const more = await shop.as(agent).send('tools.create', ordersTool(shop.connection_id, { name: 'third' }));
    expect([more.status, more.body.detail]).toEqual([409, `${problem} Begin another proposal with proposal_id new.`]);
    await shop.t.call('proposals.reject', { id, comment: 'Somebody was faster.' });
  });

  test('never shows a secret, at rest, in answers or in logs', async () => {
    const secret = 'canary-password-of-the-proposal';
    const { body, status } = await shop.as(agent).send('connections.create', {
      name: 'orders_pg',
      db_type: 'postgresql',
      host: '203.0.113.7',
      database: 'orders',
      username: 'reader',
      password: secret,
    });
    expect([status, body]).toMatchObject([202, { password_set: true }]);
    const id = String(body.proposal_id);
    const { store } = shop.t.app;
    const { proposals, proposal_operations, proposal_comments } = store.tables;
    const everything = async () =>
      JSON.stringify([
        await store.db.select().from(proposals),
        await store.db.select().from(proposal_operations),
        await store.db.select().from(proposal_comments),
        await proposal(id),
        body,
        shop.t.log,
      ]);
    expect(await everything()).not.toContain(secret);
    expect((await approve(shop, id)).status).toBe(200);
    expect(await everything()).not.toContain(secret);
    expect(await store.db.select().from(proposal_operations)).toEqual([]);
    const made = await shop.t.call('connections.get', { id: body.id });
    expect(made).toMatchObject({ name: 'orders_pg', password_set: true, version: 1 });
  });

  test('may be commented on by people and by its own token, and is decided by people alone', async () => {
    const { body } = await shop.as(agent).send('config.update', { server_name: 'Orders' });
    const id = String(body.proposal_id);
    expect((await shop.t.send('proposals.comment', { id, text: 'Why?' })).status).toBe(201);
    expect((await shop.as(agent).send('proposals.comment', { id, text: 'Clients show it.' })).status).toBe(201);
    const other = await shop.token(['propose'], 'Other');
    expect((await shop.as(other).send('proposals.comment', { id, text: 'Me too' })).status).toBe(403);
    expect(await proposal(id)).toMatchObject({
      comments: [
        { text: 'Why?', author: { type: 'admin', name: 'ada' } },
        { text: 'Clients show it.', author: { type: 'agent_token', name: 'Claude' } },
      ],
    });
    // Its token reads them too, to answer.
    const read = await shop.as(agent).call('proposals.get', { id });
    expect((read.comments as object[]).length).toBe(2);
    const everything = await shop.token(['read', 'write', 'deploy', 'propose'], 'All');
    for (const token of [agent, everything]) {
      for (const verb of ['approve', 'reject']) {
        const answer = await shop.as(token).request('POST', `/proposals/${id}/${verb}`, { version: 1 });
        expect([verb, answer.status, answer.body['code']]).toEqual([verb, 403, 'admin_only']);
      }
    }
    expect((await shop.t.send('proposals.approve', { id: '0199', version: 1 })).status).toBe(404);
    expect((await shop.t.send('proposals.comment', { id, text: '' })).status).toBe(422);
    expect((await shop.t.send('proposals.list', {}, { anonymous: true })).status).toBe(401);
    await shop.t.call('proposals.reject', { id });
  });

  test('of a token that may write is a proposal only where it says so; nobody else can name one', async () => {
    const both = await shop.token(['read', 'write', 'propose'], 'Both');
    const direct = await shop.as(both).send('config.update', { server_name: 'Direct' });
    expect([direct.status, direct.body.proposed]).toEqual([200, undefined]);
    const proposed = await shop.as(both).send('config.update', { server_name: 'Proposed' }, within('new'));
    expect([proposed.status, proposed.body.proposed]).toEqual([202, true]);
    expect((await shop.t.call('config.get', {})).server_name).toBe('Direct');
    const writer = await shop.token(['read', 'write'], 'Writer 2');
    const named = await shop.as(writer).send('config.update', { server_name: 'x' }, within('new'));
    expect([named.status, named.body.detail]).toEqual([422, expect.stringContaining('scope propose')]);
    await shop.t.call('proposals.reject', { id: String(proposed.body.proposal_id) });
  });

  test('cannot be deployed by it, and what acts outside of the configuration is refused', async () => {
    for (const [path, method] of [
      ['/deploy', 'POST'],
      ['/deploy/stop', 'POST'],
      ['/connections/sample', 'POST'],
      ['/drift/check', 'POST'],
    ] as const) {
      const answer = await shop.as(agent).request(method, path, {});
      expect([path, answer.status, answer.body['code']]).toEqual([path, 403, 'insufficient_scope']);
    }
  });

  test('what a token proposes runs no writing statement until an editor who reviews it runs its tests', async () => {
    const token = await shop.token(['propose'], 'Trier');
    const connection = await shop.t.call('connections.get', { id: shop.connection_id });
    await shop.t.call('connections.update', { id: shop.connection_id, read_only: false, version: connection.version });
    const sql_query = 'delete from orders where customer = :customer';
    const draft = ordersTool(shop.connection_id, { name: 'drop_orders', sql_query, read_only: false });
    const made = await shop.as(token).send('tools.create', draft);
    const { id, proposal_id } = made.body;
    const test_draft = { owner: { kind: 'tool', id }, name: 'drops', arguments: { customer: 'ada' }, expect: {} };
    expect((await shop.as(token).send('tests.create', test_draft)).status).toBe(202);
    const failures = [expect.stringContaining('only for editors and for tokens with the scope write')];
    const skipped = [{ status: 'skipped', failures }];
    const ran = await shop.as(token).call('tests.run', { owner: { kind: 'tool', id } });
    expect(ran).toMatchObject({ skipped: 1, results: skipped });
    const seen = await shop.as(token).call('proposals.get', { id: String(proposal_id) });
    expect(seen).toMatchObject({ tests: skipped });
    // Looking at it runs nothing, whoever looks.
    expect(await proposal(proposal_id)).toMatchObject({ tests: skipped });
    const writer = await shop.token(['read', 'write', 'deploy'], 'Tester');
    for (const one of [token, writer])
      expect((await shop.as(one).send('proposals.test', { id: String(proposal_id) })).status).toBe(403);
    expect((await shop.t.send('proposals.test', { id: String(proposal_id), version: 1 })).status).toBe(409);
    expect(await proposal(proposal_id)).toMatchObject({ tests: skipped });
    const passed = { tests: [{ name: 'drops', status: 'passed' }] };
    const tried = await shop.t.send('proposals.test', { id: String(proposal_id), version: 2 });
    expect([tried.status, tried.body]).toMatchObject([200, passed]);
    expect(await proposal(proposal_id)).toMatchObject(passed);
    const rows = { sql_query: 'select count(*) as n from orders', connection_id: shop.connection_id };
    expect(await shop.t.call('preview.execute', rows)).toMatchObject({ rows: [{ n: 3 }] });
    const data = await shop.t.call('transfer.export', {});
    const { connection_id: _, ...fields } = draft as Record<string, unknown>;
    const tools = [{ ...fields, name: 'drop_more', connection: 'shop' }];
    const tests = [{ ...test_draft, name: 'drops more', owner: { kind: 'tool', name: 'drop_more' } }];
    const planned = { ...data, tools, tests };
    const checked = await shop.as(token).send('transfer.import', { dry_run: true, check: true, mode: 'merge', ...planned });
    expect([checked.status, checked.body]).toMatchObject([
      200,
      { checks: { tests: { skipped: 1, passed: 0, results: skipped } } },
    ]);
    expect(await shop.t.call('transfer.import', { dry_run: true, check: true, mode: 'merge', ...planned })).toMatchObject({
      checks: { tests: { skipped: 0, passed: 1 } },
    });
    expect((await shop.t.send('proposals.reject', { id: String(proposal_id) })).status).toBe(200);
  });

  test('shows what is not served as well, and a connection with the first tool that reaches it', async () => {
    const token = await shop.token(['propose'], 'Builder');
    await shop.t.call('deploy.run', {});
    const connected = await shop.as(token).send(
      'connections.create',
      {
        name: 'spare',
        db_type: 'postgresql',
        host: '127.0.0.1',
        port: 1,
        database: 'spare',
        username: 'postgres',
        read_only: false,
      },
      within('new'),
    );
    const first = connected.body.proposal_id;
    expect(await proposal(first)).toMatchObject({
      diff: [
        {
          entity_type: 'connection',
          name: 'spare',
          change: 'added',
          values: { host: { old: null, new: '127.0.0.1' }, username: { new: 'postgres' }, read_only: { new: false } },
        },
      ],
    });
    const unread = await shop.t.send('proposals.approve', { id: String(first) });
    expect([unread.status, unread.body.errors]).toMatchObject([422, [{ field: 'version' }]]);
    expect((await approve(shop, first)).status).toBe(200);
    const { id } = connected.body;
    const renamed = await shop.as(token).send('connections.update', { id, name: 'spare_2', database: 'other' }, within('new'));
    expect(await proposal(renamed.body.proposal_id)).toMatchObject({
      diff: [
        { entity_type: 'connection', name: 'spare_2', change: 'changed', fields: expect.arrayContaining(['database', 'name']) },
      ],
    });
    const hidden = await shop
      .as(token)
      .send('tools.create', ordersTool(shop.connection_id, { name: 'hidden', enabled: false }), within('new'));
    expect(await proposal(hidden.body.proposal_id)).toMatchObject({
      diff: [{ entity_type: 'tool', name: 'hidden', change: 'added', connection_id: shop.connection_id }],
    });
    const tool = await shop.as(token).send('tools.create', ordersTool(id, { name: 'spare_orders' }), within('new'));
    expect(await proposal(tool.body.proposal_id)).toMatchObject({
      diff: [
        { entity_type: 'connection', name: 'spare', change: 'added', values: { username: { new: 'postgres' } } },
        { entity_type: 'tool', name: 'spare_orders', change: 'added' },
      ],
    });
    const served = await shop.as(token).send('tools.create', ordersTool(shop.connection_id, { name: 'one_more' }), within('new'));
    expect(await proposal(served.body.proposal_id)).toMatchObject({ diff: [{ entity_type: 'tool', name: 'one_more' }] });
    for (const answer of [renamed, hidden, tool, served])
      await shop.t.call('proposals.reject', { id: String(answer.body.proposal_id) });
  });

  test('is not part of an export', async () => {
    const { body } = await shop.as(agent).send('config.update', { server_name: 'Hidden name' });
    const exported = await shop.t.send('transfer.export');
    expect([exported.status, JSON.stringify(exported.body).includes('Hidden name')]).toEqual([200, false]);
    await shop.t.call('proposals.reject', { id: String(body.proposal_id) });
  });
});
