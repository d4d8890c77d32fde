import { beforeAll, expect, test } from 'bun:test';
import { connectionOf, modern, snapshotOf, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

const { control, host } = useHost('all');
beforeAll(async () => {
  const gone = connectionOf({ database: 'gone.sqlite' });
  const tools = [toolOf(connectionOf({ ...gone }), 'broken', 'select 1 as one')];
  await control.deploy(snapshotOf(1, { connections: [gone], tools: tools.map((tool) => ({ ...tool, connection_id: gone.id })) }));
});

test('every answer of the host has a request id: the one that came, when it is sane, or a new one', async () => {
  const of = async (path: string, init: RequestInit = {}) =>
    (await fetch(new URL(path, host.mcp), init)).headers.get('x-request-id') ?? '';
  for (const path of ['/mcp', '/health', '/nothing', '/oauth/token', '/livez']) {
    expect([path, await of(path, { headers: { 'x-request-id': 'mine-1' } })]).toEqual([path, 'mine-1']);
    const [first, second] = [await of(path), await of(path)];
    expect([path, first.length > 20, first === second]).toEqual([path, true, false]);
  }
  expect(await of('/mcp', { headers: { 'x-request-id': 'with space' } })).not.toBe('with space');
  expect(await of('/mcp', { headers: { origin: 'https://evil.example', 'x-request-id': 'mine-2' } })).toBe('mine-2');
});

test('the line of a call that failed has the id of its request', async () => {
  await modern(host.mcp, 'tools/call', { name: 'broken' }, { 'x-request-id': 'mine-3' });
  const line = await until(() => host.log.find(({ message }) => message === 'call_failed'));
  expect(line.fields).toMatchObject({ name: 'broken', request_id: 'mine-3' });
});

test('so have the lines of a client, a token and a message that are refused', async () => {
  const lineOf = (id: string) => host.log.find(({ fields }) => fields['request_id'] === id)?.message;
  const secret = { $sealed: 'sealed-by-nobody' };
  const send = (path: string, id: string, body: string | URLSearchParams, headers: Record<string, string> = {}) =>
    fetch(new URL(path, host.mcp), { method: 'POST', headers: { 'x-request-id': id, ...headers }, body });
  await control.deploy(
    snapshotOf(2, { server: { auth_type: 'oauth_credentials', oauth_clients: [{ client_id: 'one', client_secret: secret }] } }),
  );
  const grant = { grant_type: 'client_credentials', client_secret: 'x' };
  await send('/oauth/token', 'client-1', new URLSearchParams({ ...grant, client_id: 'nobody' }));
  expect(lineOf('client-1')).toBe('client_refused');
  await send('/oauth/token', 'client-2', new URLSearchParams({ ...grant, client_id: 'one' }));
  expect(lineOf('client-2')).toBe('client_not_checked');
  await control.deploy(
    snapshotOf(3, {
      server: {
        auth_type: 'oauth_introspection',
        introspection_url: 'http://127.0.0.1:1/introspect',
        introspection_client_id: 'sluice',
        introspection_client_secret: secret,
      },
    }),
  );
  await send('/mcp', 'token-1', '{}', { authorization: 'Bearer anything' });
  expect(lineOf('token-1')).toBe('introspection_failed');
});
