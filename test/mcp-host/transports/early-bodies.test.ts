import { beforeAll, expect, test } from 'bun:test';
import { createEarlyBodies } from '#mcp-host/transports/early-bodies.ts';
import { callTool, connection, modern, rpc, snapshotOf, toolOf } from '#test/mcp-host/support.ts';
import { testCaller } from '#test/mcp-host/callers.ts';
import { useHost } from '#test/mcp-host/use-host.ts';
import { until } from '#test/support/until.ts';

const { control, host } = useHost('all');
let known: Record<string, string>;
beforeAll(async () => {
  const tools = [toolOf(connection, 'one', 'select 1 as one'), toolOf(connection, 'two', 'select 2 as two')];
  await control.deploy(snapshotOf(1, { connections: [connection], tools, server: { auth_type: 'bearer' } }));
  const { live, headers } = await testCaller('ada', {});
  control.send('tokens', { tokens: [live] });
  known = headers;
  await until(async () => (await callTool(host.mcp, 'one', {}, known)).status === 200);
});

const stranger = { authorization: `Bearer svc_mcp_${'x'.repeat(40)}` };
const callOne = (headers: Record<string, string>, params: Record<string, unknown> = { name: 'one' }) =>
  modern(host.mcp, 'tools/call', params, headers);

test('a header that differs from the body is refused before the credential is looked at', async () => {
  for (const credential of [{}, stranger, known]) {
    for (const header of [{ 'mcp-name': 'two' }, { 'mcp-method': 'tools/list' }, { 'mcp-protocol-version': '2025-06-18' }]) {
      const { status, body } = await callOne({ ...credential, ...header });
      expect([status, body.error?.code, body.error?.message]).toEqual([400, -32_020, expect.stringContaining('Header mismatch')]);
    }
  }
  expect([(await callOne({})).status, (await callOne(stranger)).status, (await callOne(known)).status]).toEqual([401, 401, 200]);
});

test('of a body that is wrong in itself, only callers who may send it learn why', async () => {
  const send = (headers: Record<string, string>, body: string) =>
    fetch(host.mcp, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body });
  for (const body of ['{', '[]', '{"jsonrpc":"2.0"}', '{"a":1,"a":2}']) {
    expect([(await send(stranger, body)).status, (await send(known, body)).status]).toEqual([401, 400]);
  }
});

test('a body of 64 KiB and more is read only for callers who may send it, and then compared', async () => {
  const params = { name: 'one', _more: 'x'.repeat(70_000) };
  expect((await callOne({ ...stranger, 'mcp-name': 'two' }, params)).status).toBe(401);
  expect((await callOne({ ...known, 'mcp-name': 'two' }, params)).body.error?.code).toBe(-32_020);
});

test('a client of an earlier revision needs no headers that repeat the body', async () => {
  expect((await rpc(host.mcp, { jsonrpc: '2.0', id: 1, method: 'ping' }, stranger)).status).toBe(401);
});

test('bodies without a known caller are limited in number and time', async () => {
  let now = 0;
  const early = createEarlyBodies(() => now, 2);
  const slow = () =>
    new Request('http://localhost/mcp', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': '10' },
      body: new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new TextEncoder().encode('{')) }),
    });
  const first = slow();
  expect(early.takes(first)).toBe(true);
  const answers = [early.read(first), early.read(slow())];
  // Others are read when their credential is known.
  expect(early.takes(slow())).toBe(false);
  now = 10_000;
  const refused = await Promise.all(answers);
  expect(refused.map((answer) => (answer instanceof Response ? answer.status : 200))).toEqual([408, 408]);
  expect(early.takes(slow())).toBe(true);
});
