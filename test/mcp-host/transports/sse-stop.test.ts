import { beforeEach, expect, test } from 'bun:test';
import { Client as ModernClient, SSEClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { connection, hostHere, snapshotOf, type TestHost, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

/** Long enough to be stopped in the middle of it, and far less than a stop waits for. */
const SLOW = 'with recursive c(n) as (select 1 union all select n + 1 from c where n < 4000000) select count(*) as n from c';
const ENDLESS = 'with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) as n from c';
const { folder, control, host, closing, use } = useHost('each', { grace_ms: 20_000 });
let version = 0;
const deployServer = (server: Partial<FrozenServer> = {}) =>
  control.deploy(
    snapshotOf(++version, {
      connections: [connection],
      tools: [toolOf(connection, 'slow', SLOW), toolOf(connection, 'endless', ENDLESS)],
      server: { transport: 'sse', ...server },
    }),
  );

async function connectModern(): Promise<ModernClient> {
  const client = new ModernClient({ name: 'sse', version: '2' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(new ModernTransport(new URL('/sse', host.mcp)));
  closing.push(() => client.close());
  return client;
}
async function connectLegacy(): Promise<LegacyClient> {
  const client = new LegacyClient({ name: 'sse', version: '1' });
  await client.connect(new LegacyTransport(new URL('/sse', host.mcp)));
  closing.push(() => client.close());
  return client;
}
const CLIENTS = [
  ['the v1 client', connectLegacy],
  ['the v2 client in the stateless revision', connectModern],
] as const;
const RESULT = { structuredContent: { rows: [{ n: 4_000_000 }] } };

const running = (count: number) => until(async () => (await host.health()).connections[0]?.queue.active === count);
const noStreams = () => until(async () => (await host.health()).streams === 0);

const ENDS: readonly [string, () => unknown][] = [
  ['a stop', () => control.send('stop', {})],
  ['a deploy with another transport', () => deployServer({ transport: 'http' })],
  ['a deploy with another address', () => deployServer({ host: 'localhost' })],
];

beforeEach(() => deployServer());

test.each(CLIENTS.flatMap(([name, connect]) => ENDS.map(([end, act]) => [end, name, connect, act] as const)))(
  '%s lets %s have the result of its call, and ends the stream then',
  async (_, __, connect, act) => {
    const client = await connect();
    const call = client.callTool({ name: 'slow' });
    await running(1);
    await act();
    expect(await call).toMatchObject(RESULT);
    await client.close();
    await noStreams();
  },
);

test('a stop ends a stream without a call at once, and one with a call when the call has ended', async () => {
  const open = async () => {
    const response = await fetch(new URL('/sse', host.mcp));
    const reader = response.body?.getReader();
    let text = '';
    let ended = false;
    const read = async () => {
      for (;;) {
        const piece = await reader?.read();
        if (piece?.value === undefined) break;
        text += Buffer.from(piece.value).toString();
      }
      ended = true;
    };
    void read();
    const address = await until(() => /data: (\S+)/.exec(text)?.[1]);
    const post = async (message: object) =>
      (
        await fetch(new URL(address, host.mcp), {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ jsonrpc: '2.0', ...message }),
        })
      ).status;
    return { text: () => text, ended: () => ended, post };
  };
  const [quiet, busy] = [await open(), await open()];
  expect(await busy.post({ id: 1, method: 'tools/call', params: { name: 'slow' } })).toBe(202);
  await running(1);
  control.send('stop', {});
  await until(quiet.ended);
  expect(busy.ended()).toBe(false);
  expect(await busy.post({ id: 2, method: 'tools/call', params: { name: 'slow' } })).toBe(503);
  await until(busy.ended);
  expect(busy.text()).toContain('"structuredContent":{"rows":[{"n":4000000}]');
});

/** A host in this process in the place of the other, which can be ended with any grace. */
async function anotherHost(): Promise<TestHost['host']> {
  const another = await hostHere(folder.directory, control.url, { id: 'another-host' });
  closing.push(() => another.stop());
  await until(() => another.host.health().control.connected);
  await deployServer();
  await host.stop();
  use(another);
  return another.host;
}

test.each(CLIENTS)('the end of the host lets %s have the result of its call', async (_, connect) => {
  const another = await anotherHost();
  const client = await connect();
  const call = client.callTool({ name: 'slow' });
  await running(1);
  await another.stop(10_000);
  expect(await call).toMatchObject(RESULT);
});

test.each(CLIENTS)('the end of the host tells %s that its call took too long', async (_, connect) => {
  const another = await anotherHost();
  const client = await connect();
  const call = client.callTool({ name: 'endless' }).catch((error: unknown) => error);
  await running(1);
  await another.stop(200);
  expect(JSON.stringify(await call)).toContain('shutting down');
});
