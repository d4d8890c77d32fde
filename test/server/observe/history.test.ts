import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '#core/control-plane/run.ts';
import { SYSTEM } from '#core/context/context.ts';
import { createKeyring } from '#core/lib/secrets.ts';
import { recordHistory } from '#core/records/history.ts';
import { toSettings } from '#core/engines/shared/connection-settings.ts';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { storeExtras } from '#test/support/extras.ts';
import { reachable } from '#test/support/databases.ts';
import { namedStores } from '#test/support/metadata.ts';

type Entry = {
  id: string;
  entity_type: string;
  entity_id: string;
  action: string;
  batch_id: string | null;
  changes: Record<string, { old: unknown; new: unknown }>;
  snapshot: Record<string, unknown> | null;
  version_before: number | null;
  version_after: number | null;
};

if (!reachable.postgres) test.skip('history kept in PostgreSQL (not reachable)', () => undefined);

describe.each([...namedStores])('kept in %s', (metadata) => {
  let t: TestApp;
  let connection_id: string;
  let tool_id: string;

  beforeEach(async () => {
    t = await testApp({}, undefined, { metadata });
    await t.signIn();
    mkdirSync(join(t.directory, 'databases'));
    const db = new Database(join(t.directory, 'databases/shop.sqlite'));
    db.run('create table products (id integer primary key, name text not null, price real)');
    db.close();
    connection_id = await create('connections', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
    tool_id = await create('tools', draft());
  });
  afterEach(() => t.close());

  const draft = (over: object = {}) => ({
    connection_id,
    name: 'products',
    description: 'All products',
    sql_query: 'select id, name from products',
    ...over,
  });
  const create = async (noun: string, body: object) => String((await t.request('POST', `/api/v1/${noun}`, { body })).body['id']);
  const get = async (noun: string, id: string) => t.request('GET', `/api/v1/${noun}/${id}`);
  const patch = (noun: string, id: string, body: object) => t.request('PATCH', `/api/v1/${noun}/${id}`, { body });
  const list = async (query = '') => {
    const { body } = await t.request('GET', `/api/v1/history?${query}`);
    return { total: Number(body['total']), items: body['items'] as Entry[] };
  };
  const newest = async (query = '') => {
    const [entry] = (await list(query)).items;
    if (entry === undefined) throw new Error('no entry');
    return entry;
  };
  const rollback = (id: string, body: object = {}) => t.send('history.rollback', { history_id: id, ...body });
  /** Everything that is configured, without what every write changes. */
  const configuration = async () => {
    const state: Record<string, unknown> = {};
    for (const noun of ['connections', 'tools', 'resources', 'prompts']) {
      const items = (await t.request('GET', `/api/v1/${noun}`)).body['items'] as Record<string, unknown>[];
      state[noun] = items.map((item) => ({ ...item, version: 0, updated_at: '' }));
    }
    return state;
  };

  test('the list is newest first, filtered and paged', async () => {
    await patch('tools', tool_id, { description: 'Other' });
    const all = await list();
    expect(all.items.map(({ entity_type, action }) => [entity_type, action])).toEqual([
      ['tool', 'update'],
      ['tool', 'create'],
      ['connection', 'create'],
      ['admin', 'create'],
    ]);
    expect((await list('entity_type=tool&action=create')).total).toBe(1);
    expect((await list(`entity_id=${tool_id}`)).total).toBe(2);
    expect((await list('search=PRODUCT')).total).toBe(2);
    expect([(await list('actor=ada')).total, (await list('actor=nobody')).total]).toEqual([3, 0]);
    const page = await list('skip=1&limit=1');
    expect([page.total, page.items[0]?.id]).toEqual([4, all.items[1]?.id ?? '']);
    for (const query of ['limit=101', 'skip=-1', 'entity_type=table', 'action=drop']) {
      const answer = await t.request('GET', `/api/v1/history?${query}`);
      expect([query, answer.status, isErrorBody(answer.body)]).toEqual([query, 422, true]);
    }
    const one = await t.call('history.entity', { entity_type: 'tool', entity_id: tool_id });
    expect<object[]>(one.items).toEqual(all.items.slice(0, 2));
    expect((await t.send('history.entity', { entity_type: 'tool', entity_id: connection_id })).status).toBe(404);
    expect((await t.send('history.entity', { entity_type: 'table', entity_id: tool_id })).status).toBe(404);
    expect((await t.send('history.entity', { entity_type: 'server_config', entity_id: 1 })).body).toEqual({
      items: [],
      total: 0,
    });
  });

  test('an entry tells what changed, who did it and between which versions', async () => {
    await patch('tools', tool_id, { description: 'Other', tags: ['a'] });
    const { body } = await get('tools', tool_id);
    expect(await newest()).toEqual({
      id: expect.any(String),
      entity_type: 'tool',
      entity_id: tool_id,
      entity_name: 'products',
      action: 'update',
      actor: { type: 'admin', id: expect.any(String), name: 'ada' },
      ip: '192.0.2.1',
      changes: { description: { old: 'All products', new: 'Other' }, tags: { old: [], new: ['a'] } },
      snapshot: expect.objectContaining({ id: tool_id, description: 'Other', tags: ['a'], version: 2 }),
      version_before: 1,
      version_after: 2,
      batch_id: null,
      created_at: String(body['updated_at']),
    } as never);
    await t.call('tools.delete', { id: tool_id });
    expect(await newest()).toMatchObject({ action: 'delete', snapshot: { description: 'Other' }, version_after: null });
  });

  test('an update, a deletion and a creation are undone', async () => {
    const before = await configuration();
    await patch('tools', tool_id, { description: 'Other', sql_query: 'delete from products', enabled: false });
    const changed = await newest();
    const undone = await rollback(changed.id, { version: 2 });
    expect(undone.status).toBe(200);
    expect(await configuration()).toEqual(before);
    expect(undone.body.entity).toEqual((await get('tools', tool_id)).body);
    expect(undone.body.entity).toMatchObject({ version: 3, read_only: true });
    const entry = await newest();
    expect<object>(undone.body.entry).toEqual(entry);
    expect(entry).toMatchObject({ action: 'rollback', version_before: 2, version_after: 3, batch_id: expect.any(String) });

    await t.call('tools.delete', { id: tool_id });
    const back = await rollback((await newest()).id);
    expect(back.body.entity).toMatchObject({ id: tool_id, version: 4, name: 'products' });
    expect(await configuration()).toEqual(before);
    expect((await t.send('deploy.run', { dry_run: true })).status).toBe(200);

    const created = await newest(`entity_id=${tool_id}&action=create`);
    const gone = await rollback(created.id);
    expect([gone.status, gone.body.entity]).toEqual([200, null]);
    expect((await get('tools', tool_id)).status).toBe(404);
    const again = await rollback(created.id);
    expect([again.status, isErrorBody(again.body)]).toEqual([409, true]);
  });

  test('resources and prompts come back as tools do', async () => {
    const resource = await create('resources', {
      connection_id,
      name: 'product',
      description: 'One product',
      uri_template: 'shop://products/{id}',
      sql_query: 'select * from products where id = :id',
      parameters: [{ name: 'id', type: 'integer' }],
    });
    const prompt = await create('prompts', { name: 'greet', description: 'Greets', template: 'Hello' });
    const before = await configuration();
    for (const [noun, id] of [
      ['resources', resource],
      ['prompts', prompt],
    ] as const) {
      await patch(noun, id, { description: 'Other' });
      expect((await rollback((await newest()).id)).status).toBe(200);
      await t.request('DELETE', `/api/v1/${noun}/${id}`);
      expect((await rollback((await newest()).id)).status).toBe(200);
    }
    expect(await configuration()).toEqual(before);
  });

  test('the deletion of a connection brings back all that it owned, and that can be undone too', async () => {
    await create('tools', draft({ name: 'second' }));
    await create('prompts', { connection_id, name: 'greet', description: 'Greets', template: 'Hello' });
    const before = await configuration();
    await t.call('connections.delete', { id: connection_id });
    const deleted = await newest('entity_type=connection');
    const orphan = await rollback((await newest('entity_type=tool')).id);
    expect([orphan.status, isErrorBody(orphan.body)]).toEqual([409, true]);
    expect(orphan.body.detail).toContain('connection');
    const back = await rollback(deleted.id);
    expect(back.body.entity).toMatchObject({ id: connection_id, version: 2 });
    expect(await configuration()).toEqual(before);
    const entries = (await list()).items.slice(0, 4);
    expect(new Set(entries.map(({ batch_id }) => batch_id)).size).toBe(1);
    expect(entries.map(({ action }) => action)).toEqual(['rollback', 'rollback', 'rollback', 'rollback']);

    expect((await rollback((await newest('entity_type=connection')).id)).status).toBe(200);
    expect((await configuration())['tools']).toEqual([]);
    expect((await rollback((await newest('entity_type=connection')).id)).status).toBe(200);
    expect(await configuration()).toEqual(before);
  });

  test('a dry run answers what would be and changes nothing', async () => {
    await t.call('connections.delete', { id: connection_id });
    const { store } = t.app;
    const all = async () => JSON.stringify([await configuration(), await store.db.select().from(store.tables.history)]);
    const before = await all();
    const tried = await rollback((await newest('entity_type=connection')).id, { dry_run: true });
    expect(tried.body).toMatchObject({ entity: { id: connection_id, name: 'shop' }, entry: { action: 'rollback' } });
    expect(await all()).toBe(before);
  });

  test('a conflict, a stale version and what can never be undone are refused, and nothing changes', async () => {
    await patch('tools', tool_id, { name: 'renamed' });
    const renamed = await newest();
    await create('tools', draft());
    const taken = await rollback(renamed.id);
    expect([taken.status, isErrorBody(taken.body)]).toEqual([409, true]);
    expect((await rollback(renamed.id, { version: 1 })).status).toBe(409);
    expect((await rollback((await newest('entity_type=admin')).id)).status).toBe(422);
    const context = { app: t.app, actor: null, ip: null, user_agent: null, request_id: 'x' };
    const entry = { entity_type: 'tool', entity_id: tool_id, entity_name: 'x', before: null, after: null } as const;
    for (const action of ['blocked', 'deploy'] as const) {
      await t.app.store.write((tx) => recordHistory(tx, context, { ...entry, action }));
      const never = await rollback((await newest()).id);
      expect([never.status, isErrorBody(never.body)]).toEqual([422, true]);
    }
    expect((await get('tools', tool_id)).body).toMatchObject({ name: 'renamed', version: 2 });
    expect((await list('action=rollback')).total).toBe(0);
  });

  test('an earlier statement that its database refuses now is refused', async () => {
    await patch('tools', tool_id, { sql_query: 'select 1 as one' });
    const db = new Database(join(t.directory, 'databases/shop.sqlite'));
    db.run('drop table products');
    db.close();
    const answer = await rollback((await newest()).id);
    expect([answer.status, isErrorBody(answer.body)]).toEqual([400, true]);
    expect((await get('tools', tool_id)).body).toMatchObject({ sql_query: 'select 1 as one', version: 2 });
  });

  test('two rollbacks at once: one wins, the other is a conflict or comes after it', async () => {
    await patch('tools', tool_id, { description: 'Other' });
    const { id } = await newest();
    const answers = await Promise.all([rollback(id, { version: 2 }), rollback(id, { version: 2 })]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    expect((await get('tools', tool_id)).body['version']).toBe(3);
  });

  test('200 entries of a record are kept, and the newest 1 000 refusals beside them', async () => {
    const context = { app: t.app, actor: null, ip: null, user_agent: null, request_id: 'x' };
    const entry = {
      entity_type: 'tool',
      entity_id: tool_id,
      entity_name: 'x',
      before: { version: 1 },
      after: { version: 2 },
    } as const;
    await t.app.store.write(async (tx) => {
      const update = { ...entry, action: 'update' } as const;
      // Several records of one change are counted each by itself.
      for (let n = 0; n < 205; n++) await recordHistory(tx, context, update, { ...update, entity_id: 'other' });
      for (let n = 0; n < 1_003; n++) {
        await recordHistory(tx, context, { ...entry, before: null, entity_name: `n${n}`, action: 'blocked' });
      }
    });
    const kept = await list(`entity_id=${tool_id}&action=update`);
    expect([kept.total, (await list('action=create&entity_type=tool')).total]).toEqual([200, 0]);
    expect((await list('entity_id=other')).total).toBe(200);
    expect((await list('action=create&entity_type=connection')).total).toBe(1);
    const blocked = await list('action=blocked&skip=999');
    expect([blocked.total, (blocked.items[0] as unknown as { entity_name: string }).entity_name]).toEqual([1_000, 'n3']);
  });
});

describe('secrets', () => {
  let t: TestApp;
  let id: string;
  beforeEach(async () => {
    t = await testApp();
    await t.signIn();
    const body = { ...postgres, password: 'canary-one' };
    id = (await t.send('connections.create', body)).body.id;
    await storeExtras(t.app, id, { app: 'x', api_token: 'canary-token' });
  });
  afterEach(() => t.close());

  const postgres = { name: 'pg', db_type: 'postgresql', host: '127.0.0.1', port: 1, database: 'x', username: 'ada' };
  const patch = (body: object) => t.send('connections.update', { id, ...body });
  const entries = async (query = '') => (await t.request('GET', `/api/v1/history?${query}`)).body['items'] as Entry[];
  const newest = async (query = 'entity_type=connection') => (await entries(query))[0]?.id ?? '';
  const rollback = (entry: string, body: object = {}) => t.send('history.rollback', { history_id: entry, ...body });
  const settings = async () => {
    const [row] = await t.app.store.db.select().from(t.app.store.tables.connections);
    if (row === undefined) throw new Error('no row');
    return toSettings(row, t.app.secrets);
  };

  test('read as [redacted] everywhere, count as changed only when they are, and are restored', async () => {
    await patch({ password: 'canary-two', pool_size: 2 });
    const [entry] = await entries();
    expect(entry?.changes).toEqual({
      password: { old: '[redacted]', new: '[redacted]' },
      pool_size: { old: 4, new: 2 },
    });
    expect(entry?.snapshot).toMatchObject({ password: '[redacted]', extra_params: { app: 'x', api_token: '[redacted]' } });
    const undone = await rollback(entry?.id ?? '');
    expect(undone.body.entity).toMatchObject({ password_set: true, extra_params: { api_token: '********' } });
    expect(await settings()).toMatchObject({ password: 'canary-one', extra_params: { app: 'x', api_token: 'canary-token' } });
    await t.call('connections.delete', { id });
    const back = await rollback(await newest());
    expect(await settings()).toMatchObject({ password: 'canary-one' });
    const told = JSON.stringify([undone.body, back.body, await entries(), t.log]);
    for (const secret of ['canary', '$sealed', 'v1.']) expect(told).not.toContain(secret);
  });

  test('of a lost key: the entry says so, and only its own rollback is refused', async () => {
    await patch({ password: 'canary-two' });
    const lost = { $sealed: createKeyring(['another key'], new Uint8Array(32)).seal('x', `connection/${id}/password`) };
    const entry = await newest();
    const { history } = t.app.store.tables;
    const [row] = await t.app.store.db.select().from(history).where(eq(history.id, entry));
    await t.app.store.write((tx) =>
      tx
        .update(history)
        .set({ before: { ...row?.before, password: lost } })
        .where(eq(history.id, entry)),
    );
    await patch({ pool_size: 2 });
    const marks = (await entries()).map((item) => (item as { secrets_unavailable?: boolean }).secrets_unavailable);
    expect(marks).toEqual([undefined, true, undefined, undefined]);
    const refused = await rollback(entry);
    expect([refused.status, isErrorBody(refused.body)]).toEqual([409, true]);
    expect((await rollback(await newest())).status).toBe(200);
    expect(await settings()).toMatchObject({ password: 'canary-two', pool_size: 4 });
  });

  test('a token restores no earlier address for a kept secret, nor what only an administrator sets', async () => {
    const actor = { type: 'agent_token', id: 'x', name: 'robot', scopes: ['read', 'write'] } as const;
    const attempt = (history_id: string) =>
      run(t.app, 'history.rollback', { history_id }, { actor, ip: null, user_agent: null, request_id: 'x' }).then(
        ({ entry }) => entry.actor.name,
        (error: { code: string }) => error.code,
      );
    await patch({ host: '127.0.0.2' });
    expect(await attempt(await newest())).toBe('secret_required');
    await patch({ pool_size: 2 });
    expect(await attempt(await newest())).toBe('robot');
    await t.call('config.update', { cors_origins: ['https://a.example'], server_name: 'A' });
    const config = await newest('entity_type=server_config');
    expect(await attempt(config)).toBe('admin_only');
    expect((await rollback(config, { version: 1 })).status).toBe(409);
    const undone = await rollback(config, { version: 2 });
    expect(undone.body.entity).toMatchObject({ server_name: 'Sluice', version: 3 });
    const reader = { actor: { ...actor, scopes: ['read' as const] }, ip: null, user_agent: null, request_id: 'x' };
    expect(run(t.app, 'history.rollback', { history_id: config }, reader)).rejects.toMatchObject({ code: 'insufficient_scope' });
  });

  test('an earlier address that is not allowed any more is refused, and the refusal is noted', async () => {
    const before = await t.app.store.db.select().from(t.app.store.tables.connections);
    await patch({ pool_size: 2, port: 2 });
    const strict = { ...t.app, policy: { ...t.app.policy, allow_private_networks: false } };
    const call = { actor: SYSTEM, ip: null, user_agent: null, request_id: 'x' };
    const refused = run(strict, 'history.rollback', { history_id: await newest() }, call);
    expect(refused).rejects.toMatchObject({ code: 'private_network_blocked' });
    await refused.catch(() => undefined);
    expect((await entries('action=blocked')).map(({ entity_id }) => entity_id)).toEqual([id]);
    const [after] = await t.app.store.db.select().from(t.app.store.tables.connections);
    expect([after?.version, after?.pool_size, before[0]?.pool_size]).toEqual([2, 2, 4]);
    // What is the same in both states is not checked again.
    await patch({ pool_size: 3 });
    const undone = await run(strict, 'history.rollback', { history_id: await newest() }, call);
    expect(undone.entity).toMatchObject({ pool_size: 2, port: 2 });
  });
});
