import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type ListeningAgent, listeningAgent } from '#test/support/agent.ts';
import type { McpClient } from '#test/support/mcp-clients.ts';

const DRAFT = {
  name: 'shop',
  db_type: 'postgresql',
  host: '192.0.2.10',
  port: 5432,
  database: 'shop',
  username: 'reader',
  password: 'canary-password',
};

let a: ListeningAgent;
let token: string;
let client: McpClient;
let id: string;
beforeAll(async () => {
  a = await listeningAgent();
  token = await a.token();
  client = await a.client('v2', token);
  id = String((await a.s.api('POST', '/connections', DRAFT)).body['id']);
});
afterAll(async () => {
  await client.close();
  await a.stop();
});

const stored = async () => (await a.s.api('GET', `/connections/${id}`)).body;

test('a token may not send a kept password elsewhere: by a change, an import, or an undone change', async () => {
  const before = await stored();
  for (const change of [{ host: '192.0.2.66' }, { port: 6543 }, { username: 'other' }, { ssl_mode: 'disable' }]) {
    const answer = await client.call('update_connection', { connection_id: 'shop', ...change });
    expect([answer.isError, answer.content[0]?.text]).toEqual([true, expect.stringContaining('password')]);
  }
  const { password: _, ...rest } = DRAFT;
  const imported = await fetch(`${a.s.url}/api/v1/export-import/import?mode=overwrite`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ format: 'sluice/1', connections: [{ ...rest, host: '192.0.2.66' }] }),
  });
  expect([imported.status, await imported.text()]).toEqual([422, expect.stringContaining('password')]);
  expect(await stored()).toEqual(before);

  await a.s.api('PATCH', `/connections/${id}`, { host: '192.0.2.11' });
  const [entry] = (await a.s.api('GET', `/history/connection/${id}`)).body['items'] as { id: string }[];
  const undone = await client.call('rollback', { history_id: entry?.id ?? '' });
  expect([undone.isError, undone.content[0]?.text]).toEqual([true, expect.stringContaining('password')]);
  expect((await stored())['host']).toBe('192.0.2.11');
});

test('with the password in the same call it may, and no answer or log holds it', async () => {
  const changed = await client.call('update_connection', { connection_id: 'shop', host: '192.0.2.12', password: 'canary-two' });
  expect(changed.structuredContent).toMatchObject({ host: '192.0.2.12', password_set: true });
  const shown = [
    changed,
    await client.call('get_connection', { connection_id: 'shop' }),
    await client.call('list_history', { entity_type: 'connection' }),
    await client.call('export_config', {}),
    await client.call('get_flow_layout', {}),
    (await a.s.api('GET', '/agent-activity')).body,
  ];
  expect(JSON.stringify(shown)).not.toContain('canary');
});

test('a connection that is deleted and brought back keeps its password at the last address only', async () => {
  const entries = (await a.s.api('GET', `/history/connection/${id}`)).body['items'] as { id: string }[];
  const gone = (await client.call('delete_connection', { connection_id: 'shop' })).structuredContent;
  // An entry from when it had another address.
  const earlier = await client.call('rollback', { history_id: entries[0]?.id ?? '' });
  expect([earlier.isError, earlier.content[0]?.text]).toEqual([true, expect.stringContaining('password')]);
  expect((await client.call('rollback', { history_id: String(gone?.['history_id']) })).isError).toBeUndefined();
  expect((await stored())['host']).toBe('192.0.2.12');
});
