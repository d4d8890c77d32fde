import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { canonical } from '#snapshots/format/canonical.ts';
import { type TestHost, testHost } from '#test/mcp-host/support.ts';
import { freePort } from '#test/support/free-port.ts';
import { edit, type Shop, shop } from './folder-support.ts';
import { until } from '#test/support/until.ts';

let t: Shop;
let host: TestHost;
let dir: string;
const tokens: Record<string, string> = {};
const mcp_port = freePort();

beforeAll(async () => {
  t = await shop({ SVC_FASTMCP_PORT: String(mcp_port) });
  const { s } = t;
  host = await testHost(join(s.directory, 'databases'), s.url, {
    service_token: s.service_token,
    openSecret: (sealed, place) => s.server.app.keyring.open(sealed, place),
    auth: {
      tokens: { read: () => Promise.resolve(null), write: () => Promise.resolve() },
      keys: s.server.app.env.SVC_ENCRYPTION_KEY,
      public_url: null,
      ask: () => Promise.reject(new Error('nobody is asked')),
    },
  });
  await until(() => s.server.app.hosts.list().length > 0);
  await s.call('config.update', { mcp_proxy: true, auth_type: 'bearer' });
  dir = t.folder();
  await t.sluice('pull', dir);
  writeFileSync(
    join(dir, 'tools/secret_sales.sql'),
    '---\nconnection: shop\ndescription: Not for everybody\n---\nselect 42 as answer\n',
  );
  expect(await t.sluice('push', dir, '--deploy', '--note', 'from files')).toMatchObject({
    code: 0,
    out: expect.stringContaining('Version 1 deployed.'),
  });
  for (const [name, toolsets] of [
    ['all', null],
    ['sales', ['sales']],
  ] as const) {
    tokens[name] = (await s.send('mcp_tokens.create', { name, toolsets, all_toolsets: toolsets === null })).body.token;
  }
  await until(async () => (await definitionsOf('all')).status === 200);
}, 60_000);
afterAll(async () => {
  await host.stop();
  await t.stop();
});

const PATH = '/.well-known/mcp-definitions';
const origin = () => new URL(host.mcp).origin;
const definitionsOf = (token: string, below = '', headers: Record<string, string> = {}, at = origin()) =>
  fetch(`${at}${PATH}${below}`, {
    headers: { ...(tokens[token] === undefined ? {} : { authorization: `Bearer ${tokens[token]}` }), ...headers },
  });
const listed = async (token: string, below = '') =>
  Object.keys(((await (await definitionsOf(token, below)).json()) as { definitions: object }).definitions);

test('a host lists the hashes of what the caller may see, here and on the front port', async () => {
  const answer = await definitionsOf('all');
  const body = (await answer.json()) as { snapshot_version: number; checksum: string; definitions: Record<string, string> };
  expect(body).toMatchObject({ snapshot_version: 1, checksum: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) });
  expect(Object.keys(body.definitions)).toEqual(['prompts/greet', 'resources/product', 'tools/products', 'tools/secret_sales']);
  const { content } = await t.s.call('snapshots.get', { version: 1 });
  const frozen = (content as { tools: { name: string }[] }).tools.find(({ name }) => name === 'products');
  expect(body.definitions['tools/products']).toBe(createHash('sha256').update(canonical(frozen)).digest('hex'));

  expect(await listed('sales')).toEqual(['prompts/greet', 'tools/products']);
  expect(await listed('all', '/mcp/sales')).toEqual(['prompts/greet', 'tools/products']);
  expect(await listed('sales', '/mcp/readonly')).toEqual(['prompts/greet', 'tools/products']);
  expect((await definitionsOf('sales', '/mcp/people')).status).toBe(404);
  expect((await definitionsOf('sales', '/elsewhere')).status).toBe(404);
  const etag = answer.headers.get('etag') ?? '';
  expect((await definitionsOf('all', '', { 'if-none-match': etag })).status).toBe(304);
  expect((await definitionsOf('sales', '', { 'if-none-match': etag })).status).toBe(200);
  const refused = await definitionsOf('nobody');
  expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('resource_metadata=')]);
  expect(
    (await fetch(`${origin()}${PATH}`, { method: 'POST', headers: { authorization: `Bearer ${tokens['all']}` } })).status,
  ).toBe(405);

  const front = await definitionsOf('sales', '/mcp/sales', {}, t.s.url);
  expect([front.status, await front.json()]).toEqual([200, await (await definitionsOf('sales', '/mcp/sales')).json()]);
  expect((await definitionsOf('nobody', '', {}, t.s.url)).status).toBe(401);
});

test('verify stores a lock file and tells what changed since, with exit codes for CI', async () => {
  const lock = join(t.folder(), 'tools.lock');
  const env = { SLUICE_MCP_TOKEN: tokens['sales'] ?? '' };
  const verify = (...args: string[]) => t.with(env, 'verify', lock, ...args);
  expect(await verify()).toMatchObject({ code: 1, err: expect.stringContaining('--write') });
  expect(await verify('--write')).toMatchObject({ code: 64 });
  expect(await verify('--write', '--url', origin())).toEqual({
    code: 0,
    out: expect.stringMatching(/^2 definitions of version 1 written to .+, signed by [\w-]{43}\.\n$/),
    err: '',
  });
  const locked = (number: number, version: number) =>
    expect.stringMatching(new RegExp(`^${number} definitions as locked \\(version ${version}\\), signed by [\\w-]{43}\\.\n$`));
  expect(await verify()).toEqual({ code: 0, out: locked(2, 1), err: '' });
  expect(await t.with({}, 'verify', lock)).toMatchObject({ code: 1, err: expect.stringContaining('SLUICE_MCP_TOKEN') });

  // What this caller cannot see changes: nothing to tell.
  edit(dir, 'tools/secret_sales.sql', (text) => text.replace('42', '43'));
  await t.sluice('push', dir, '--deploy');
  await until(async () => ((await (await definitionsOf('all')).json()) as { snapshot_version: number }).snapshot_version === 2);
  expect(await verify()).toMatchObject({ code: 0, out: locked(2, 2) });

  // The same name, description and columns with another statement: only the hash tells.
  edit(dir, 'tools/products.sql', (text) => text.replace('select id, name, price', 'select id, name, price * 2 as price'));
  edit(dir, 'prompts/greet.md', (text) => text.replace('---\n', '---\n# A comment changes nothing.\n'));
  writeFileSync(
    join(dir, 'tools/count.sql'),
    '---\nconnection: shop\ndescription: How many\ntags: [catalogue]\n---\nselect count(*) as n from products\n',
  );
  await t.sluice('push', dir, '--deploy');
  await until(async () => ((await (await definitionsOf('all')).json()) as { snapshot_version: number }).snapshot_version === 3);
  expect(await verify()).toEqual({
    code: 2,
    err: '',
    out: `+ added    tools/count\n~ changed  tools/products\nVersion 3 is not what ${lock} holds. Review the difference, then run verify with --write.\n`,
  });
  expect(await verify('--write', '--url', `${origin()}/mcp/sales`)).toMatchObject({ code: 0 });
  expect(JSON.parse(readFileSync(lock, 'utf8'))).toMatchObject({ url: `${origin()}/mcp/sales`, snapshot_version: 3 });
  expect(await verify()).toMatchObject({ code: 0 });
  // The file may come from anybody who proposes a change: the token goes to no other address than the one that is set.
  const elsewhere = { ...env, SLUICE_MCP_URL: 'https://mcp.example.com' };
  expect(await t.with(elsewhere, 'verify', lock)).toMatchObject({
    code: 64,
    err: expect.stringContaining('Pass --url to choose one.'),
  });
  expect(await t.with(elsewhere, 'verify', lock, '--url', `${origin()}/mcp/sales`)).toMatchObject({ code: 0 });
  // What a host answers, as it was downloaded.
  writeFileSync(lock, await (await definitionsOf('sales')).text());
  expect(await verify()).toMatchObject({ code: 64, err: expect.stringContaining('--url') });
  expect(await verify('--url', origin())).toMatchObject({ code: 0, out: locked(3, 3) });
  writeFileSync(lock, '{}');
  expect(await verify()).toMatchObject({ code: 1, err: expect.stringContaining('is not a lock file') });
});

test('what was pushed is what a client of the official SDK calls', async () => {
  const client = new Client({ name: 'files', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${tokens['all']}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(host.mcp), { requestInit }));
  try {
    const { content } = await client.callTool({ name: 'secret_sales', arguments: {} });
    expect(JSON.stringify(content)).toContain('43');
  } finally {
    await client.close();
  }
});
