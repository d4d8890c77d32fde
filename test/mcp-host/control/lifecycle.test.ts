import { describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import type { FrozenConnection } from '#snapshots/format/format.ts';
import {
  connectionOf,
  controlServer,
  ENVELOPE,
  modern,
  parameterOf,
  promptOf,
  resourceOf,
  rpc,
  snapshotOf,
  sqliteFolder,
  testHost,
  toolOf,
} from '../support.ts';
import { useHost } from '../use-host.ts';
import { on_deno } from '#test/support/deno.ts';
import { until } from '#test/support/until.ts';

const { folder, control, host, closing, use } = useHost('each');

const ENDLESS = 'with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) as n from c';
const versioned = (version: number, connection: FrozenConnection, more: Parameters<typeof snapshotOf>[1] = {}) =>
  snapshotOf(version, {
    connections: [connection],
    tools: [
      toolOf(connection, 'version', `select ${version} as version`, { return_type: 'value' }),
      toolOf(connection, 'endless', ENDLESS),
      ...(version > 1 ? [toolOf(connection, `new_in_${version}`, 'select 1')] : []),
    ],
    ...more,
  });
const callVersion = async () => {
  const { status, body } = await modern(host.mcp, 'tools/call', { name: 'version' });
  expect(status).toBe(200);
  return (body.result as unknown as { structuredContent: { value: number } }).structuredContent.value;
};

describe('a swap', () => {
  test('under load loses no call, and calls see the old or the new snapshot', async () => {
    const connection = connectionOf({});
    await control.deploy(versioned(1, connection));
    const load_end = new AbortController();
    const seen = new Set<number>();
    let calls = 0;
    const load = Array.from({ length: 8 }, async () => {
      while (!load_end.signal.aborted) {
        seen.add(await callVersion());
        calls++;
      }
    });
    for (let version = 2; version <= 12; version++) {
      const so_far = calls;
      await until(() => calls >= so_far + 8);
      const moved = version % 3 === 0 ? { ...connection, pool_key: `sha256:moved-${version}` } : connection;
      expect(await control.deploy(versioned(version, moved))).toMatchObject({ version, error: null });
    }
    load_end.abort();
    await Promise.all(load);
    expect(await callVersion()).toBe(12);
    expect(seen.size).toBeGreaterThan(3);
    expect(calls).toBeGreaterThan(40);
    await until(async () => (await host.health()).connections.every(({ sessions }) => sessions <= 4));
  });

  test('keeps the sessions of an unchanged connection and closes those of a removed one', async () => {
    const [kept, removed] = [connectionOf({ name: 'kept' }), connectionOf({ name: 'removed' })];
    const tools = [toolOf(kept, 'a', 'select 1'), toolOf(removed, 'b', 'select 1')];
    await control.deploy(snapshotOf(1, { connections: [kept, removed], tools }));
    await modern(host.mcp, 'tools/call', { name: 'a' });
    await modern(host.mcp, 'tools/call', { name: 'b' });
    expect((await host.health()).connections.map(({ name, sessions }) => [name, sessions])).toEqual([
      ['kept', 1],
      ['removed', 1],
    ]);
    await control.deploy(snapshotOf(2, { connections: [kept], tools: tools.slice(0, 1) }));
    await until(async () => (await host.health()).connections.length === 1);
    expect((await host.health()).connections[0]).toMatchObject({ name: 'kept', sessions: 1, queue: { completed: 1 } });
  });

  test('a running call of a removed connection finishes on its own pool', async () => {
    const connection = connectionOf({});
    const slow = 'with recursive c(n) as (select 1 union all select n + 1 from c where n < 3000000) select count(*) as n from c';
    await control.deploy(
      snapshotOf(1, { connections: [connection], tools: [toolOf(connection, 'slow', slow, { timeout_ms: 60_000 })] }),
    );
    const call = modern(host.mcp, 'tools/call', { name: 'slow' });
    await until(async () => (await host.health()).connections[0]?.queue.active === 1);
    await control.deploy(snapshotOf(2));
    expect(await call).toMatchObject({ body: { result: { structuredContent: { rows: [{ n: 3_000_000 }] } } } });
  });

  test('a snapshot that is not whole is refused with a reason, the old one goes on', async () => {
    const connection = connectionOf({});
    await control.deploy(versioned(1, connection));
    const broken = snapshotOf(2, { tools: [toolOf(connection, 'orphan', 'select 1')] });
    expect(await control.deploy(broken)).toMatchObject({ version: 1, error: expect.stringContaining('orphan') });
    expect(await callVersion()).toBe(1);
  });

  test('a thousand tools are built in a few milliseconds', async () => {
    const connection = connectionOf({});
    const parameters = [parameterOf('a', 'integer', { minimum: 1 }), parameterOf('b', 'string', { pattern: '^[a-z]+$' })];
    const tools = Array.from({ length: 1_000 }, (_, n) =>
      toolOf(connection, `tool_${n}`, 'select :a as a, :b as b', { parameters }),
    );
    const ack = await control.deploy(snapshotOf(1, { connections: [connection], tools }));
    expect(ack.load_ms).toBeLessThan(2_000);
  });
});

describe('list_changed', () => {
  test('reaches a legacy stream and a modern listener, and only for the lists that changed', async () => {
    const connection = connectionOf({});
    await control.deploy(versioned(1, connection));
    const legacy = new LegacyClient({ name: 'legacy', version: '1' });
    let heard = 0;
    legacy.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      heard++;
    });
    await legacy.connect(new LegacyTransport(host.mcp));
    closing.push(() => legacy.close());
    const client = new ModernClient({ name: 'modern', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    await client.connect(new ModernTransport(host.mcp));
    closing.push(() => client.close());
    const events: string[] = [];
    client.setNotificationHandler('notifications/tools/list_changed', () => void events.push('tools'));
    client.setNotificationHandler('notifications/prompts/list_changed', () => void events.push('prompts'));
    const subscription = await client.listen({ toolsListChanged: true, promptsListChanged: true });
    closing.push(() => subscription.close());
    await until(async () => (await host.health()).streams === 2);

    await control.deploy(versioned(2, connection));
    await until(() => heard === 1 && events.length === 1);
    expect((await legacy.listTools()).tools.map(({ name }) => name)).toContain('new_in_2');
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('new_in_2');

    await control.deploy(versioned(2, connection, { prompts: [promptOf('hi', 'Hi')] }));
    await until(() => events.length === 2);
    expect(events).toEqual(['tools', 'prompts']);
    expect(heard).toBe(1);
  });

  test('a listener is answered first, with what is served of its filter, under its id', async () => {
    const connection = connectionOf({});
    const resources = [resourceOf(connection, 'db://customers', 'select name from customers')];
    await control.deploy(versioned(1, connection, { resources }));
    const controller = new AbortController();
    const response = await fetch(host.mcp, {
      method: 'POST',
      signal: controller.signal,
      headers: { 'content-type': 'application/json', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 'sub',
        method: 'subscriptions/listen',
        params: {
          _meta: ENVELOPE,
          notifications: {
            toolsListChanged: true,
            resourceSubscriptions: ['db://customers'],
            promptsListChanged: false,
            x: true,
          },
        },
      }),
    });
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    const reader = response.body?.getReader();
    let text = '';
    while (!text.includes('data:')) text += new TextDecoder().decode((await reader?.read())?.value);
    const data = text.split('\n').find((line) => line.startsWith('data:'));
    expect(JSON.parse(data?.slice(5) ?? '')).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: {
        _meta: { 'io.modelcontextprotocol/subscriptionId': 'sub' },
        notifications: { toolsListChanged: true, resourceSubscriptions: ['db://customers'] },
      },
    });
    controller.abort();
    await until(async () => (await host.health()).streams === 0);
    expect(await modern(host.mcp, 'subscriptions/listen')).toMatchObject({ body: { error: { code: -32_602 } } });
  });

  test('a session without a stream hears of the change when it opens one', async () => {
    const connection = connectionOf({});
    await control.deploy(versioned(1, connection));
    const { headers } = await rpc(host.mcp, { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } });
    await control.deploy(versioned(2, connection));
    const response = await fetch(host.mcp, { headers: { 'mcp-session-id': headers.get('mcp-session-id') ?? '' } });
    const reader = response.body?.getReader();
    let text = '';
    while (!text.includes('list_changed')) text += new TextDecoder().decode((await reader?.read())?.value);
    expect(text).toContain('notifications/tools/list_changed');
    await reader?.cancel();
  });
});

describe('stop', () => {
  test('ends streams properly, lets calls finish, answers 503, and starts again without the content', async () => {
    const connection = connectionOf({});
    const slow = 'with recursive c(n) as (select 1 union all select n + 1 from c where n < 1000000) select count(*) as n from c';
    const snapshot = snapshotOf(1, {
      connections: [connection],
      tools: [toolOf(connection, 'slow', slow, { timeout_ms: 60_000 })],
    });
    await control.deploy(snapshot);
    const { headers } = await rpc(host.mcp, { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } });
    const stream = await fetch(host.mcp, { headers: { 'mcp-session-id': headers.get('mcp-session-id') ?? '' } });
    const ended = stream.text();
    const listener = await fetch(host.mcp, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 9,
        method: 'subscriptions/listen',
        params: { _meta: ENVELOPE, notifications: { toolsListChanged: true } },
      }),
    });
    const listened = listener.text();
    const running = modern(host.mcp, 'tools/call', { name: 'slow' });
    await until(async () => (await host.health()).connections[0]?.queue.active === 1);

    const ack = control.nextAck();
    control.send('stop', {});
    expect(await ack).toMatchObject({ version: null, checksum: null, error: null });
    expect(await ended).toContain('notifications/tools/list_changed');
    const lines = (await listened).split('\n').filter((line) => line.startsWith('data:'));
    expect(lines.at(-2)).toContain('list_changed');
    expect(JSON.parse(lines.at(-1)?.slice(5) ?? '')).toMatchObject({ id: 9, result: { resultType: 'complete' } });
    expect(await running).toMatchObject({ body: { result: { structuredContent: { rows: [{ n: 1_000_000 }] } } } });
    const refused = await modern(host.mcp, 'tools/list');
    expect(refused).toMatchObject({
      status: 503,
      body: { error: { code: -32_000, message: expect.stringContaining('stopped') } },
    });
    expect(refused.headers.get('retry-after')).toBe('5');
    const page = await modern(host.mcp, 'tools/list', {}, { origin: 'http://localhost:5173' });
    expect([page.status, page.headers.get('access-control-allow-origin')]).toEqual([503, 'http://localhost:5173']);
    expect(await host.health()).toMatchObject({ status: 'stopped', snapshot_version: 1 });

    const { content: _, ...head } = snapshot;
    const again = control.nextAck();
    control.send('snapshot', head);
    expect(await again).toMatchObject({ version: 1, checksum: snapshot.checksum, error: null });
    expect((await modern(host.mcp, 'tools/list')).status).toBe(200);
  });

  test('the end of the program is told to the server', async () => {
    const other = await testHost(folder.directory, control.url, { id: 'other', boot_id: 'its boot' });
    await until(() => control.ids.includes('other'));
    await other.stop();
    expect(control.left).toEqual(['its boot']);
  });

  test('calls that outlive the grace are cancelled in the database', async () => {
    const connection = connectionOf({});
    await control.deploy(versioned(1, connection));
    const running = modern(host.mcp, 'tools/call', { name: 'endless' });
    await until(async () => (await host.health()).connections[0]?.queue.active === 1);
    control.send('stop', {});
    const { body } = await running;
    expect(body.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('stopped') }] });
    await until(async () => (await host.health()).connections.every(({ sessions }) => sessions === 0));
  });
});

// The file that is written slowly is a function, which does not reach another process.
if (!on_deno)
  test('a version is served while its signatures are written, and acknowledged after that', async () => {
    const written = Promise.withResolvers<void>();
    await host.stop();
    use(
      await testHost(folder.directory, control.url, {
        signed: { read: () => Promise.resolve(null), write: () => written.promise },
      }),
    );
    await until(async () => (await host.health()).control.connected);
    control.send('signed', { keys: [], lists: [] });
    const acknowledged = control.deploy(versioned(2, connectionOf({})));
    await until(async () => (await host.health()).snapshot_version === 2);
    await Bun.sleep(50);
    expect(control.acks).toEqual([]);
    written.resolve();
    expect(await acknowledged).toMatchObject({ version: 2, ok: true });
  });

describe('without the server', () => {
  test('the host serves on, and starts from its disk', async () => {
    const connection = connectionOf({});
    await control.deploy(versioned(3, connection));
    await until(() => readFileSync(join(folder.directory, 'host.json'), 'utf8').includes('"version":3'));
    await control.stop();
    await until(async () => !(await host.health()).control.connected);
    expect(await callVersion()).toBe(3);
    await host.stop();
    use(await testHost(folder.directory, control.url));
    expect(await callVersion()).toBe(3);
    expect(await host.health()).toMatchObject({ status: 'running', control: { connected: false } });
  });

  test('a stopped host starts stopped', async () => {
    await control.deploy(versioned(1, connectionOf({})));
    const ack = control.nextAck();
    control.send('stop', {});
    await ack;
    await host.stop();
    use(await testHost(folder.directory, 'http://127.0.0.1:1'));
    expect((await modern(host.mcp, 'tools/list')).status).toBe(503);
    expect((await host.health()).status).toBe('stopped');
  });

  test('a damaged file is passed over for the one before it, and said in the log', async () => {
    const connection = connectionOf({});
    const path = join(folder.directory, 'host.json');
    for (const version of [1, 2]) {
      await control.deploy(versioned(version, connection));
      await until(() => readFileSync(path, 'utf8').includes(`"version":${version},`));
    }
    await host.stop();
    writeFileSync(path, readFileSync(path, 'utf8').replace('"version":2', '"version":9'));
    use(await testHost(folder.directory, 'http://127.0.0.1:1'));
    expect(await callVersion()).toBe(1);
    expect(host.log.find(({ message }) => message === 'snapshot_file_damaged')).toBeDefined();
  });

  test('a host that never had a snapshot says so', async () => {
    expect(await modern(host.mcp, 'tools/list')).toMatchObject({
      status: 503,
      body: { error: { message: expect.stringContaining('deployed') } },
    });
    expect(await host.health()).toMatchObject({ status: 'waiting', snapshot_version: null });
  });

  test('a lost line is opened again, naming what the host has', async () => {
    const snapshot = versioned(4, connectionOf({}));
    await control.deploy(snapshot);
    const port = Number(new URL(control.url).port);
    await control.stop();
    await Bun.sleep(50);
    const again = controlServer(port);
    closing.push(() => again.stop());
    await until(() => again.haves.length > 0);
    expect(again.haves).toEqual([`4:${snapshot.checksum}`]);
  });

  test('a server that refuses the token is not asked in a hurry, and the log says why', async () => {
    const other = sqliteFolder();
    const refused = await testHost(other.directory, control.url, { service_token: 'wrong' });
    await until(() => refused.log.find(({ fields }) => String(fields['reason']).includes('SVC_AGENT_SERVICE_TOKEN')));
    await refused.stop();
    other.remove();
  });
});
