import { beforeEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { identityFile } from '#mcp-host/auth/signed/identity-state.ts';
import { rightsOfPerson, rightsOfScopes } from '#mcp-host/auth/rights.ts';
import { identityOf, personClaims, type TestKey, testKey } from '#test/support/signed-tokens.ts';
import { authSettings, connectionOf, modern, promptOf, resourceOf, rpc, snapshotOf, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { toolsetOf } from './toolsets-support.ts';
import { until } from '#test/support/until.ts';

const { control, host } = useHost('each', (directory) => ({
  auth: { ...authSettings(directory), identity: identityFile(join(directory, 'identity.json')) },
}));
let key: TestKey;
const shop = connectionOf({});
const tools = ['orders', 'refunds', 'salaries', 'loose'].map((name) => toolOf(shop, name, 'select 1 as n', { tags: [name] }));
const toolsets = [
  toolsetOf('orders', { tags: ['orders'] }),
  toolsetOf('refunds', { tags: ['refunds', 'note'] }, { groups: ['emea', 'apac'] }),
  toolsetOf('salaries', { tags: ['salaries'] }, { groups: ['hr'] }),
];
const notes = resourceOf(shop, 'shop://note', 'select 1 as n', { name: 'note', tags: ['note'] });
const prompt = { ...promptOf('say', 'Hello'), tags: ['note'] };

const deployToolsets = (version: number, sets = toolsets) =>
  control.deploy(
    snapshotOf(version, {
      connections: [shop],
      tools,
      resources: [notes],
      prompts: [prompt],
      toolsets: sets,
      server: { auth_type: 'oauth' },
    }),
  );
beforeEach(async () => {
  key = await testKey();
  await deployToolsets(1);
  const list = identityOf([key]);
  control.send('identity', list);
  await until(() => host.log.some(({ message, fields }) => message === 'identity_list' && fields['as_of'] === list.as_of));
});

const at = (path: string) => new URL(`/mcp${path}`, host.mcp);
const tokenFor = async (more: Record<string, unknown> = {}, path = '') => ({
  authorization: `Bearer ${await key.sign(personClaims(at(path).href, Date.now(), more))}`,
});
const namesFor = async (headers: Record<string, string>, path = '') => {
  const { status, body } = await modern(at(path), 'tools/list', {}, headers);
  return status === 200 ? ((body.result?.['tools'] ?? []) as { name: string }[]).map(({ name }) => name).join(' ') : status;
};

describe('a signed-in person', () => {
  test('has the toolsets of everyone and of its groups, cut to the scopes that were granted', async () => {
    expect(await namesFor(await tokenFor())).toBe('orders refunds');
    expect(await namesFor(await tokenFor({ groups: [] }))).toBe('orders');
    expect(await namesFor(await tokenFor({ groups: ['hr', 'apac'] }))).toBe('orders refunds salaries');
    expect(await namesFor(await tokenFor({ scope: 'refunds offline_access' }))).toBe('refunds');
    expect(await namesFor(await tokenFor({ scope: 'offline_access' }))).toBe('');
    expect(await namesFor(await tokenFor({ scope: 'salaries' }))).toBe('');
    expect(await namesFor(await tokenFor({}, '/refunds'), '/refunds')).toBe('refunds');
    const narrow = await tokenFor({ scope: 'refunds' });
    expect(await namesFor(narrow)).toBe('refunds');
    await deployToolsets(2, []);
    expect(await namesFor(await tokenFor())).toBe('loose orders refunds salaries');
    expect(await namesFor(narrow)).toBe('');
  });

  test('is asked for a scope that it was not granted but would be, at the address and at the call', async () => {
    const headers = await tokenFor({ scope: 'orders' });
    const narrow = await tokenFor({ scope: 'orders' }, '/refunds');
    const metadata = `${host.mcp.origin}/.well-known/oauth-protected-resource/mcp`;
    const elsewhere = await modern(at('/refunds'), 'tools/list', {}, narrow);
    expect([elsewhere.status, elsewhere.headers.get('www-authenticate')]).toEqual([
      403,
      `Bearer resource_metadata="${metadata}/refunds", error="insufficient_scope", scope="orders refunds"`,
    ]);
    const asked = `Bearer resource_metadata="${metadata}", error="insufficient_scope", scope="orders refunds"`;
    for (const [method, params] of [
      ['tools/call', { name: 'refunds' }],
      ['resources/read', { uri: 'shop://note' }],
      ['prompts/get', { name: 'say' }],
    ] as const) {
      const one = await modern(at(''), method, params, headers);
      expect([method, one.status, one.headers.get('www-authenticate')]).toEqual([method, 403, asked]);
      const legacy = await rpc(at(''), { id: 1, method, params }, { ...headers, 'mcp-protocol-version': '2025-11-25' });
      expect([method, legacy.status, legacy.headers.get('www-authenticate')]).toEqual([method, 403, asked]);
    }
    // It is not listed: only who knows of it is led on.
    expect(await namesFor(headers)).toBe('orders');
  });

  test('is told nothing of what no scope would give it', async () => {
    const headers = await tokenFor({ scope: 'orders' });
    const answerTo = async (name: string) => {
      const { status, body, headers: given } = await modern(at(''), 'tools/call', { name }, headers);
      return [status, JSON.stringify(body), given.get('www-authenticate')];
    };
    expect(await answerTo('salaries')).toEqual(await answerTo('salariez'));
    expect(await answerTo('loose')).toEqual(await answerTo('salariez'));
    const at_address = async (path: string) => modern(at(path), 'tools/list', {}, await tokenFor({ scope: 'orders' }, path));
    const [hidden, unknown] = [await at_address('/salaries'), await at_address('/nowhere')];
    expect([hidden.status, hidden.body]).toEqual([404, unknown.body]);
  });
});

test('rights by groups and scopes', () => {
  expect(rightsOfPerson([], ['x'], []).toolsets).toBeNull();
  // The part that was granted is gone: nothing is left of it, and nothing else takes its place.
  expect(rightsOfPerson([], ['x'], ['y']).toolsets).toEqual([]);
  expect(rightsOfPerson(toolsets, [], [])).toMatchObject({ toolsets: ['orders'], may_ask: [] });
  expect(rightsOfPerson(toolsets, ['emea'], ['refunds', 'gone'])).toMatchObject({ toolsets: ['refunds'], may_ask: ['orders'] });
  expect(rightsOfPerson(toolsets, ['emea'], ['gone'])).toMatchObject({ toolsets: [], may_ask: ['orders', 'refunds'] });
  // A granted name is never taken for none, whatever other servers mean by it and whether or not its toolset is still there.
  expect(rightsOfPerson([...toolsets, toolsetOf('email', {})], [], ['email']).toolsets).toEqual(['email']);
  expect(rightsOfPerson(toolsets, [], ['email']).toolsets).toEqual([]);
  expect(rightsOfScopes([], ['orders']).toolsets).toBeNull();
  expect(rightsOfScopes(toolsets, ['salaries', 'gone']).toolsets).toEqual(['salaries']);
  expect(rightsOfScopes(toolsets, []).toolsets).toEqual([]);
});
