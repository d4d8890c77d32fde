import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { HostEvent } from '#core/contract/deploy/control.ts';
import { WAITS } from '#core/platform/platform.ts';
import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { run } from '#core/control-plane/run.ts';
import { systemRequest } from '#core/context/context.ts';
import { writeDeployment } from '#core/versions/deployment.ts';
import { followDeployments } from '#core/deploy/deployment-follow.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { connectHost } from '#test/support/host.ts';
import { describeOnce } from '#test/support/metadata.ts';
import { canonical, checksum } from '#snapshots/format/canonical.ts';
import type { Compiled } from '#snapshots/freeze/compile.ts';
import { until } from '#test/support/until.ts';

let t: TestApp;
let connection_id: string;
beforeEach(async () => {
  t = await testApp({ SVC_ALLOW_PASSTHROUGH_SQL: 'true' });
  await t.signIn();
  mkdirSync(join(t.directory, 'databases'));
  new Database(join(t.directory, 'databases/shop.sqlite')).run('create table products (id integer primary key, name text)');
  const connection = { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' };
  connection_id = String((await t.request('POST', '/api/v1/connections', { body: connection })).body['id']);
});
afterEach(() => t.close());

const tool = (over: object = {}) =>
  t.request('POST', '/api/v1/tools', {
    body: { connection_id, name: 'products', description: 'All products', sql_query: 'select id from products', ...over },
  });

test('a host that lacks what is deployed gets it, although nothing changed', async () => {
  connectHost(t.app, 'h1');
  await tool();
  await t.send('deploy.run');
  const got: boolean[] = [];
  t.app.hosts.connect('h2', ({ event, data }: HostEvent) => {
    if (event !== 'snapshot') return;
    const sent = JSON.parse(data as string) as { version: number; checksum: string };
    got.push('delta' in sent);
    const { version, checksum } = sent;
    queueMicrotask(() =>
      t.app.hosts.acknowledge('h2', { boot_id: 'b', version, checksum, load_ms: 1, url: null, error: null, request_id: null }),
    );
  });
  expect((await t.send('deploy.run')).body).toMatchObject({ changed: false, hosts: [{ id: 'h1' }, { id: 'h2', error: null }] });
  await t.send('deploy.run');
  expect(got).toEqual([true, false]);
});

test('a host that refuses a snapshot is named with its reason, at once', async () => {
  await t.close();
  // Waiting for more than the refusal would outlast the test.
  t = await testApp({}, undefined, { waits: { ...WAITS, hosts_ms: 3_600_000 } });
  await t.signIn();
  t.app.hosts.connect('h1', ({ event, data }: HostEvent) => {
    if (event !== 'snapshot' && event !== 'listen') return;
    const request_id = event === 'listen' ? (data as { request_id: string }).request_id : null;
    const error = event === 'listen' ? null : 'The disk is full.';
    queueMicrotask(() =>
      t.app.hosts.acknowledge('h1', { boot_id: 'b', version: null, checksum: null, load_ms: null, url: null, error, request_id }),
    );
  });
  const { body } = await t.send('deploy.run');
  expect(body['hosts']).toMatchObject([{ id: 'h1', error: 'The disk is full.' }]);
  expect(String(body['warnings'])).toContain('rejected the snapshot: The disk is full.');
});

test('a version is sent once, and again after a stop that ended elsewhere', async () => {
  const heard: string[] = [];
  connectHost(t.app, 'h1', (event) => ['snapshot', 'stop'].includes(event) && heard.push(event));
  await tool();
  await t.send('deploy.run');
  let end = followDeployments(t.app, 5);
  await Bun.sleep(50);
  end();
  expect(heard).toEqual(['snapshot']);
  await t.request('POST', '/api/v1/deploy/stop', { body: {} });
  // As another server that starts it again before this one looks.
  await t.app.store.write((tx) => writeDeployment(t.app, tx, { desired: 'running' }));
  end = followDeployments(t.app, 5);
  await until(() => heard.length > 2);
  end();
  expect(heard).toEqual(['snapshot', 'stop', 'snapshot']);
});

test('changes of the same tool at the same moment without a version all win in turn', async () => {
  const { body } = await tool();
  const path = `/api/v1/tools/${String(body['id'])}`;
  const changes = [{ description: 'New' }, { title: 'Title' }, { tags: ['a'] }, { cache_ttl_seconds: 5 }];
  const answers = await Promise.all(changes.map((change) => t.request('PATCH', path, { body: change })));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect((await t.request('GET', path)).body).toMatchObject({
    description: 'New',
    title: 'Title',
    tags: ['a'],
    cache_ttl_seconds: 5,
    version: 5,
  });
});

test('a tool that takes its whole statement is deployed and restored only where that is allowed', async () => {
  connectHost(t.app);
  const passthrough = await tool({ name: 'any', sql_query: ':sql', parameters: [{ name: 'sql', type: 'string' }] });
  expect(passthrough.status).toBe(201);
  expect((await t.send('deploy.run')).status).toBe(200);
  const strict = { ...t.app, env: { ...t.app.env, SVC_ALLOW_PASSTHROUGH_SQL: false } };
  const [{ run }, { systemRequest }] = await Promise.all([
    import('#core/control-plane/run.ts'),
    import('#core/context/context.ts'),
  ]);
  expect(run(strict, 'snapshots.activate', { version: 1 }, systemRequest('test'))).rejects.toMatchObject({
    code: 'passthrough_sql_blocked',
  });
});

test('a resource that runs text of its caller is not restored where that is not allowed', async () => {
  connectHost(t.app);
  const body = { connection_id, name: 'any_rows', description: 'Rows of the given statement', uri_template: 'db://{sql}' };
  const reading = { ...body, sql_query: 'select :sql as text' };
  expect((await t.request('POST', '/api/v1/resources', { body: { ...body, sql_query: ':sql' } })).status).toBe(422);
  expect((await t.request('POST', '/api/v1/resources', { body: reading })).status).toBe(201);
  // As a release saved it that did not know the form.
  const { compiled, resources } = t.app.store.tables;
  await t.app.store.db.update(resources).set({ sql_query: ':sql' });
  await t.app.store.db.delete(compiled);
  expect((await t.send('deploy.run')).status).toBe(200);
  const strict = { ...t.app, env: { ...t.app.env, SVC_ALLOW_PASSTHROUGH_SQL: false } };
  const [{ run }, { systemRequest }] = await Promise.all([
    import('#core/control-plane/run.ts'),
    import('#core/context/context.ts'),
  ]);
  const restored = () => run(strict, 'snapshots.activate', { version: 1 }, systemRequest('test'));
  const refusal = { code: 'passthrough_sql_blocked', detail: expect.stringContaining('The resource any_rows') as string };
  expect(restored()).rejects.toMatchObject(refusal);
});

test('a tool saved while its connection is being deleted goes with it', async () => {
  const saves = Array.from({ length: 5 }, (_, n) => tool({ name: `tool_${n}` }));
  const removed = t.request('DELETE', `/api/v1/connections/${connection_id}`);
  await Promise.all([...saves, removed]);
  expect((await t.request('GET', '/api/v1/tools')).body['total']).toBe(0);
});

test('an artifact of an older compiler is made and described again', async () => {
  connectHost(t.app);
  await tool({
    sql_query: 'select id, name from products where :a is null or name = :a',
    parameters: [{ name: 'a', type: 'string' }],
  });
  await t.send('deploy.run');
  const { compiled } = t.app.store.tables;
  const made = await t.app.store.db.select().from(compiled);
  const artifact = { ...(made[0]?.artifact as Compiled), key: 'older' };
  await t.app.store.db.update(compiled).set({ key: 'older', digest: checksum(canonical(artifact)), artifact });
  // As after a start of a newer version: nothing is in memory.
  t.app.working_copy.copy = null;
  // Who looks at what waits freezes too.
  await t.request('GET', '/api/v1/deploy/status');
  expect((await t.send('deploy.run')).body).toMatchObject({ changed: false });
  expect(await t.app.store.db.select().from(compiled)).toEqual(made);
  const { body } = await t.request('GET', '/api/v1/snapshots/1');
  expect(JSON.stringify(body)).toContain('"name":{"anyOf":[{"type":"string"},{"type":"null"}]}');
});

describeOnce(reachable.postgres)('two servers on one PostgreSQL database', () => {
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let a: TestApp;
  let b: TestApp;
  let connection: string;
  beforeEach(async () => {
    database = await testDatabase('postgresql');
    const { host, port, username, database: name } = database.settings;
    const url = `postgres://${username}@${host}:${port}/${name}`;
    [a, b] = [await testApp({}, url), await testApp({}, url)];
    await a.signIn();
    await b.request('POST', '/api/v1/auth/login', { body: { username: 'ada', password: 'correct horse' } });
    connectHost(a.app, 'ha');
    connectHost(b.app, 'hb');
    const draft = { name: 'pg', db_type: 'postgresql', host, port, username, database: 'postgres', ssl_mode: 'disable' };
    connection = String((await a.request('POST', '/api/v1/connections', { body: draft })).body['id']);
  });
  afterEach(async () => {
    await Promise.all([a.close(), b.close()]);
    await database.drop();
  });

  const create = (server: TestApp, name: string) =>
    server.request('POST', '/api/v1/tools', {
      body: { connection_id: connection, name, description: name, sql_query: 'select 1 as one' },
    });
  const deployOn = (server: TestApp) => server.request('POST', '/api/v1/deploy', { body: {} });

  test('deploys at the same moment take turns, none is refused and no write is lost', async () => {
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all([
        create(a, `a_${round}`).then(() => deployOn(a)),
        create(b, `b_${round}`).then(() => deployOn(b)),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      await deployOn(a);
      const { body } = await b.request('GET', '/api/v1/deploy/status');
      expect(body).toMatchObject({ pending_changes: 0, last_error: null });
    }
    const { body } = await a.request('GET', '/api/v1/snapshots?limit=1');
    expect(body['items']).toMatchObject([{ active: true, counts: { tools: 10 } }]);
  }, 60_000);

  test('one that lost its turn with its connection does not undo what was deployed since', async () => {
    await create(a, 'early');
    let late: Promise<void> | undefined;
    const overtaken = async () => {
      await create(b, 'late');
      expect((await deployOn(b)).status).toBe(200);
    };
    // Its checks are over, and its lock is gone.
    const { store } = a.app;
    const lost: ControlPlane = {
      ...a.app,
      store: {
        ...store,
        exclusive: (work) => work(),
        write: async (work) => {
          await (late ??= overtaken());
          return store.write(work);
        },
      },
    };
    const refused = await run(lost, 'deploy.run', {}, systemRequest('lost')).catch(String);
    expect(refused).toContain('was put in service in the meantime');
    const { body } = await a.request('GET', '/api/v1/snapshots?limit=5');
    expect(body['items']).toMatchObject([{ active: true, counts: { tools: 2 } }]);
  });

  test('a deploy and a stop on one reach the hosts of the other', async () => {
    const heard: string[] = [];
    b.app.hosts.connect('watcher', ({ event }: HostEvent) => {
      if (event === 'snapshot' || event === 'stop') heard.push(event);
    });
    await create(a, 'one');
    await deployOn(a);
    const end = followDeployments(b.app, 50);
    // A server that begins to follow says what it finds.
    await until(() => heard.length === 1);
    await create(a, 'two');
    await deployOn(a);
    await until(() => heard.length === 2);
    await a.request('POST', '/api/v1/deploy/stop', { body: {} });
    await until(() => heard.length === 3);
    expect(heard).toEqual(['snapshot', 'snapshot', 'stop']);
    end();
  });
});
