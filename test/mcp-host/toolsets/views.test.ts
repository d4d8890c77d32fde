import { beforeEach, describe, expect, test } from 'bun:test';
import { Client as ModernClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { FrozenToolset } from '#snapshots/format/format.ts';
import { connectionOf, modern, parameterOf, promptOf, resourceOf, rpc, snapshotOf, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { liveToken, selectionOf, tokenText, toolsetOf } from './toolsets-support.ts';
import { until } from '#test/support/until.ts';

const { control, host, closing } = useHost('each');
const shop = connectionOf({});
const hr = connectionOf({ name: 'hr' });
const orders = toolOf(shop, 'orders', 'select 1 as n', { tags: ['sales'] });
const change = toolOf(shop, 'change', "update customers set name = 'x' where id = 99", { tags: ['sales'], mode: 'write' });
const salaries = toolOf(hr, 'salaries', 'select 2 as n', { tags: ['people'] });
const news = resourceOf(shop, 'shop://news', 'select 3 as n', { name: 'news', tags: ['sales'] });
const person = resourceOf(hr, 'hr://person/{id}', 'select :id as id', {
  name: 'person',
  parameters: [parameterOf('id', 'integer', { enum: [1, 2] })],
});
const greet = {
  ...promptOf('greet', 'Hello {{ who }}', [{ name: 'who', required: true, enum: ['Ada', 'Bob'] }]),
  tags: ['sales'],
};
const fire = { ...promptOf('fire', 'Bye {{ who }}', [{ name: 'who', required: true, enum: ['Eve'] }]), connection_id: hr.id };
const SALES = toolsetOf('sales', { tags: ['sales'] }, { title: 'Sales desk', instructions: 'Ask before you change an order.' });
const PEOPLE = toolsetOf('people', { connection_ids: [hr.id] });
const LOOK = toolsetOf(
  'look',
  { connection_ids: [shop.id, hr.id] },
  { read_only: true, exclude: selectionOf({ tool_ids: [salaries.id] }) },
);

const content = (toolsets: readonly FrozenToolset[] = [SALES, PEOPLE, LOOK], tools = [orders, change, salaries]) => ({
  connections: [shop, hr],
  tools,
  resources: [news, person],
  prompts: [greet, fire],
  toolsets,
  server: { auth_type: 'bearer' as const },
});

beforeEach(() => control.deploy(snapshotOf(1, content())));

let told = 0;
async function tell(...tokens: Awaited<ReturnType<typeof liveToken>>[]): Promise<void> {
  const before = (await host.health()).access_tokens.as_of;
  control.send('tokens', { tokens });
  told++;
  await until(async () => (await host.health()).access_tokens.as_of !== before);
}
/** A token with these toolsets, told to the host. */
async function bearer(toolsets: readonly string[] | null): Promise<{ authorization: string }> {
  const text = tokenText(told);
  await tell(await liveToken(text, toolsets));
  return { authorization: `Bearer ${text}` };
}
const at = (path: string) => new URL(`/mcp${path}`, host.mcp);
const names = async (method: string, member: string, path: string, headers: Record<string, string>): Promise<string[]> => {
  const { body } = await modern(at(path), method, {}, headers);
  return ((body.result?.[member] ?? [{ name: JSON.stringify(body) }]) as { name: string }[]).map(({ name }) => name);
};
const toolsAt = (path: string, headers: Record<string, string>) => names('tools/list', 'tools', path, headers);

describe('lists', () => {
  test('every endpoint lists its part, cut to what the token may see', async () => {
    const all = await bearer(null);
    expect(await toolsAt('', all)).toEqual(['change', 'orders', 'salaries']);
    expect(await toolsAt('/sales', all)).toEqual(['change', 'orders']);
    expect(await toolsAt('/people/', all)).toEqual(['salaries']);
    expect(await toolsAt('/look', all)).toEqual(['orders']);
    expect(await toolsAt('/readonly', all)).toEqual(['orders', 'salaries']);
    expect(await toolsAt('/tag/sales', all)).toEqual(['change', 'orders']);
    expect(await toolsAt('/tag/none', all)).toEqual([]);
    expect(await names('prompts/list', 'prompts', '/people', all)).toEqual(['fire']);
    expect(await names('resources/list', 'resources', '/sales', all)).toEqual(['news']);
    expect(await names('resources/templates/list', 'resourceTemplates', '/sales', all)).toEqual([]);
    expect(await names('resources/templates/list', 'resourceTemplates', '/look', all)).toEqual(['person']);

    const sales = await bearer(['sales']);
    expect(await toolsAt('', sales)).toEqual(['change', 'orders']);
    expect(await toolsAt('/readonly', sales)).toEqual(['orders']);
    expect(await toolsAt('/tag/people', sales)).toEqual([]);
    expect(await names('prompts/list', 'prompts', '', sales)).toEqual(['greet']);
    const both = await bearer(['people', 'look', 'gone']);
    expect(await toolsAt('', both)).toEqual(['orders', 'salaries']);
    expect(await toolsAt('', await bearer([]))).toEqual([]);
  });

  test('a toolset has its own title and instructions, and its lists are private', async () => {
    const sales = await bearer(['sales']);
    const { body } = await modern(at('/sales'), 'server/discover', {}, sales);
    expect(body.result).toMatchObject({ instructions: 'Ask before you change an order.', cacheScope: 'private' });
    expect(JSON.stringify(body.result)).toContain('"title":"Sales desk"');
    const whole = await modern(at(''), 'server/discover', {}, sales);
    // Nobody wrote any for everything, so the caller reads what is there for it, and of nothing else.
    const made = String(whole.body.result?.['instructions']);
    expect(made).toContain('orders');
    expect(made).not.toContain('salaries');
    const opened = await rpc(at('/sales'), { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } }, sales);
    expect(opened.body.result?.['instructions']).toBe('Ask before you change an order.');
  });

  test('an endpoint of an unknown toolset and one of another caller are the same', async () => {
    const sales = await bearer(['sales']);
    const hidden = await modern(at('/people'), 'tools/list', {}, sales);
    const unknown = await modern(at('/peopel'), 'tools/list', {}, sales);
    expect([hidden.status, hidden.body]).toEqual([unknown.status, unknown.body]);
    expect(hidden.status).toBe(404);
    const headersOf = ({ headers }: typeof hidden) => [...headers.keys()].filter((name) => name !== 'x-request-id');
    expect(headersOf(hidden)).toEqual(headersOf(unknown));
    for (const path of ['/people', '/peopel']) expect((await modern(at(path), 'tools/list')).status).toBe(401);
    for (const path of ['/oauth', '/tag', '/candidate', '/Sales', '/tag/a/b', '/tag/%', '/sales/x']) {
      expect([path, (await modern(at(path), 'tools/list', {}, sales)).status]).toEqual([path, 404]);
    }
  });

  test('a cursor of one view does not lead into another', async () => {
    const tools = Array.from({ length: 1_001 }, (_, n) =>
      toolOf(shop, `t${String(n).padStart(4, '0')}`, 'select 1 as n', { tags: ['sales'] }),
    );
    await control.deploy(snapshotOf(2, content([SALES], tools)));
    const sales = await bearer(['sales']);
    const all = await bearer(null);
    const text = tokenText(told - 2);
    await tell(await liveToken(text, ['sales']), await liveToken(tokenText(told - 1), null));
    const first = await modern(at(''), 'tools/list', {}, sales);
    const cursor = first.body.result?.['nextCursor'];
    expect((await modern(at(''), 'tools/list', { cursor }, sales)).body.result?.['tools']).toHaveLength(1);
    expect((await modern(at(''), 'tools/list', { cursor }, all)).body.error?.code).toBe(-32_602);
  });
});

describe('what is hidden', () => {
  const answerOf = async (method: string, params: Record<string, unknown>, headers: Record<string, string>) => {
    const { status, body } = await modern(at(''), method, params, headers);
    return JSON.stringify([status, body]);
  };
  const CASES: readonly (readonly [
    method: string,
    params: (name: string) => Record<string, unknown>,
    hidden: string,
    unknown: string,
  ])[] = [
    ['tools/call', (name) => ({ name, arguments: { a: 1 } }), 'salaries', 'salariez'],
    ['tools/call', (name) => ({ name, arguments: [] }), 'salaries', 'salariez'],
    ['resources/read', (uri) => ({ uri }), 'hr://person/1', 'hx://person/1'],
    ['prompts/get', (name) => ({ name, arguments: { who: 'Eve' } }), 'fire', 'fine'],
    ['prompts/get', (name) => ({ name, arguments: 1 }), 'fire', 'fine'],
    [
      'completion/complete',
      (name) => ({ ref: { type: 'ref/prompt', name }, argument: { name: 'who', value: '' } }),
      'fire',
      'fine',
    ],
    [
      'completion/complete',
      (uri) => ({ ref: { type: 'ref/resource', uri }, argument: { name: 'id', value: '' } }),
      'hr://person/{id}',
      'hx://person/{id}',
    ],
    [
      'completion/complete',
      (uri) => ({ ref: { type: 'ref/resource', uri }, argument: { name: 'id', value: '' } }),
      'hr://person/1',
      'hx://person/1',
    ],
  ];
  for (const [method, params, hidden, unknown] of CASES) {
    test(`${method} of ${hidden} is answered as that of ${unknown}`, async () => {
      const headers = await bearer(['sales']);
      const one = await answerOf(method, params(hidden), headers);
      expect(one).toBe((await answerOf(method, params(unknown), headers)).replaceAll(unknown, hidden));
      expect(one).toContain('error');
      // It is there for others.
      expect(await answerOf(method, params(hidden), await bearer(null))).not.toBe(one);
    });
  }

  test('a session hears nothing of it and cannot follow it', async () => {
    const headers = await bearer(['sales']);
    const opened = await rpc(at(''), { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } }, headers);
    const session = { ...headers, 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    const follow = async (uri: string) =>
      (await rpc(at(''), { id: 2, method: 'resources/subscribe', params: { uri } }, session)).body;
    expect(JSON.stringify(await follow('hr://person/1'))).toBe(JSON.stringify(await follow('hx://person/1')).replace('hx', 'hr'));
    expect((await follow('shop://news')).error).toBeUndefined();
    // The session belongs to its endpoint.
    const elsewhere = await rpc(at('/sales'), { id: 3, method: 'tools/list' }, session);
    expect(elsewhere.status).toBe(404);
  });

  test('hidden calls count in no limit and leave nothing in the request log', async () => {
    const headers = await bearer(['sales']);
    for (let n = 0; n < 3; n++) await modern(at(''), 'tools/call', { name: 'salaries' }, headers);
    await modern(at(''), 'tools/call', { name: 'orders' }, headers);
    const logged = await until(
      () => control.usage.flatMap(({ items }) => items).length > 0 && control.usage.flatMap(({ items }) => items),
    );
    expect(logged.map(({ name }) => name)).toEqual(['orders']);
  });
});

describe('changes', () => {
  const client = async (headers: Record<string, string>, path = '') => {
    const heard: string[] = [];
    const one = new ModernClient({ name: 'c', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    one.setNotificationHandler('notifications/tools/list_changed', () => void heard.push('tools'));
    one.setNotificationHandler('notifications/prompts/list_changed', () => void heard.push('prompts'));
    await one.connect(new StreamableHTTPClientTransport(at(path), { requestInit: { headers } }));
    await one.listen({ toolsListChanged: true, promptsListChanged: true });
    closing.push(() => one.close());
    return { heard, names: async () => (await one.listTools()).tools.map(({ name }) => name) };
  };

  test('a deploy is heard by those who see something else after it', async () => {
    const [text, other] = [tokenText(900), tokenText(901)];
    await tell(await liveToken(text, ['sales']), await liveToken(other, ['people']));
    const sales = await client({ authorization: `Bearer ${text}` });
    const people = await client({ authorization: `Bearer ${other}` }, '/people');
    const bonus = toolOf(hr, 'bonus', 'select 5 as n');
    await control.deploy(snapshotOf(2, content([SALES, PEOPLE], [orders, change, salaries, bonus])));
    await until(() => people.heard.length > 0);
    expect(await people.names()).toEqual(['bonus', 'salaries']);
    expect([people.heard, sales.heard]).toEqual([['tools'], []]);
    await control.deploy(
      snapshotOf(
        3,
        content([{ ...SALES, exclude: selectionOf({ tool_ids: [change.id] }) }, PEOPLE], [orders, change, salaries, bonus]),
      ),
    );
    await until(() => sales.heard.length > 0);
    expect(await sales.names()).toEqual(['orders']);
    expect([people.heard, sales.heard]).toEqual([['tools'], ['tools']]);
  });

  test('a token that is given other toolsets sees them at once, and its open streams hear of it', async () => {
    const text = tokenText(902);
    const token = await liveToken(text, ['sales']);
    await tell(token);
    const { heard, names: seen } = await client({ authorization: `Bearer ${text}` });
    await tell({ ...token, toolsets: ['people'] });
    await until(() => heard.length === 2);
    expect(heard.toSorted()).toEqual(['prompts', 'tools']);
    expect(await seen()).toEqual(['salaries']);
    await tell({ ...token, toolsets: ['people', 'gone'] });
    await tell({ ...token, toolsets: null });
    await until(() => heard.length === 4);
    expect(await seen()).toEqual(['change', 'orders', 'salaries']);
  });
});

test('every endpoint has metadata of its own, whether or not there is such a toolset', async () => {
  for (const path of ['', '/sales', '/nobody', '/readonly', '/tag/a%20b']) {
    const response = await fetch(new URL(`/.well-known/oauth-protected-resource/mcp${path}`, host.mcp));
    expect([path, ((await response.json()) as { resource: string }).resource]).toEqual([path, at(path).href]);
    const refused = await modern(at(path), 'tools/list');
    expect(refused.headers.get('www-authenticate')).toContain(`/.well-known/oauth-protected-resource/mcp${path}"`);
  }
  const wrong = await fetch(new URL('/.well-known/oauth-protected-resource/mcp/Not-One', host.mcp));
  expect(wrong.status).toBe(404);
});
