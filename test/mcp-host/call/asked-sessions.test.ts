import { afterEach, beforeEach, expect, test } from 'bun:test';
import { openRedisLimits } from '#core/cluster/redis-limits.ts';
import { readEvents } from '#mcp-host/protocol/events.ts';
import { reachable, redisUrl } from '#test/support/databases.ts';
import {
  connectionOf,
  type ControlServer,
  controlServer,
  hostHere,
  parameterOf,
  rpc,
  snapshotOf,
  sqliteFolder,
  type TestHost,
  toolOf,
} from '../support.ts';
import { hostsServing } from './confirmation-support.ts';
import { paced } from '#test/support/paced.ts';
import { until } from '#test/support/until.ts';

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly result?: { readonly isError?: boolean; readonly content: readonly { readonly text?: string }[] };
}

const SQL = 'select id, name from customers where id = :id';
const contentOf = (connection: ReturnType<typeof connectionOf>) => ({
  connections: [connection],
  tools: [toolOf(connection, 'find', SQL, { parameters: [parameterOf('id', 'integer')], ask_missing: true })],
});

let folder: ReturnType<typeof sqliteFolder>;
const ends: (() => unknown)[] = [];
beforeEach(() => {
  folder = sqliteFolder();
});
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
  folder.remove();
});

/** A call in a session that waits for its client: the question, and what answers it at any host of the installation. */
async function askedAt(mcp: URL) {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: { form: {} } },
    clientInfo: { name: 'raw', version: '1' },
  };
  const { headers } = await rpc(mcp, { id: 1, method: 'initialize', params });
  const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': '2025-11-25' };
  const response = await fetch(mcp, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...session },
    body: JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'find', arguments: {} } }),
  });
  const messages: Message[] = [];
  if (response.body !== null) {
    void readEvents(response.body, (_, data) => messages.push(JSON.parse(data) as Message)).catch(() => undefined);
  }
  const { id } = await until(() => messages.find(({ method }) => method === 'elicitation/create'));
  const send = (message: object, at = mcp) => rpc(at, message, session);
  return {
    send,
    answer: (at = mcp) => send({ id, result: { action: 'accept', content: { id: 2 } } }, at),
    result: () => until(() => messages.find((message) => message.id === 2)?.result),
    open: () => messages.every((message) => message.id !== 2),
  };
}

async function startHost(): Promise<{ host: TestHost; control: ControlServer; connection: ReturnType<typeof connectionOf> }> {
  const control = controlServer();
  const host = await hostHere(folder.directory, control.url, { grace_ms: 3_000 });
  ends.push(
    () => control.stop(),
    () => host.stop(),
  );
  await until(() => host.host.health().control.connected);
  const connection = connectionOf({});
  await control.deploy(snapshotOf(1, contentOf(connection)));
  return { host, control, connection };
}

test('a deploy leaves a question open, and its answer counts for the version that asked', async () => {
  const { host, control, connection } = await startHost();
  const call = await askedAt(host.mcp);
  await control.deploy(snapshotOf(2, { connections: [connection] }));
  expect((await call.answer()).status).toBe(202);
  expect(await call.result()).toMatchObject({ structuredContent: { rows: [{ id: 2, name: 'Grace' }] } });
});

test.each([
  ['the end of the host', (host: TestHost) => host.host.stop(3_000)],
  [
    'a stop of the server',
    async (_: TestHost, control: ControlServer) => {
      const ack = control.nextAck();
      control.send('stop', {});
      await ack;
    },
  ],
])('%s takes the answer to an open question, and nothing else', async (_, stop) => {
  const { host, control } = await startHost();
  const { mcp } = host;
  const call = await askedAt(mcp);
  const stopped = stop(host, control);
  await until(() => host.host.health().status !== 'running');
  expect((await call.send({ id: 3, method: 'tools/call', params: { name: 'find', arguments: { id: 1 } } })).status).toBe(503);
  expect((await rpc(mcp, { id: 3, method: 'ping' })).status).toBe(503);
  expect((await call.answer()).status).toBe(202);
  expect(await call.result()).toMatchObject({ structuredContent: { rows: [{ id: 2, name: 'Grace' }] } });
  await stopped;
});

test('a question that nobody answers holds up the end of the host for no longer than it has time', async () => {
  const { host } = await startHost();
  const call = await askedAt(host.mcp);
  const began = performance.now();
  await host.host.stop(300);
  expect(performance.now() - began).toBeLessThan(paced(2_000));
  const { isError, content } = await call.result();
  expect([isError, content[0]?.text]).toEqual([true, expect.stringContaining('The host is shutting down')]);
});

test.each([true, false])('an answer that reaches another host is handed on where they share Redis: %p', async (shared) => {
  if (shared && !reachable.redis && process.env['CI'] !== 'true') return;
  const space = crypto.randomUUID();
  const options = () => {
    const redis = shared ? openRedisLimits(redisUrl, space, () => undefined) : null;
    ends.push(() => redis?.close());
    return { redis };
  };
  const { one, two } = await hostsServing(folder, ends, options, contentOf(connectionOf({})));
  await Bun.sleep(50);
  const [call, other] = [await askedAt(one.host.mcp), await askedAt(one.host.mcp)];
  expect((await call.answer(two.host.mcp)).status).toBe(202);
  if (shared) expect(await call.result()).toMatchObject({ structuredContent: { rows: [{ id: 2, name: 'Grace' }] } });
  else await Bun.sleep(600);
  expect([call.open(), other.open()]).toEqual([!shared, true]);
  if (!shared) await call.answer();
  await other.answer();
  expect(await other.result()).toMatchObject({ structuredContent: { rows: [{ id: 2, name: 'Grace' }] } });
});
