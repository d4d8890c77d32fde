import { NO_IDENTITY } from '#core/query/identity.ts';
import { beforeEach, describe, expect, test } from 'bun:test';
import { BY_GROUPS, type PlaygroundCaller, signPlaygroundToken } from '#core/edge/playground-token.ts';
import type { FrozenServer, FrozenToolset } from '#snapshots/format/format.ts';
import { connection, KEY, modern, parameterOf, snapshotOf, TOKEN as SERVICE_TOKEN, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';

import { toolsetOf } from '../toolsets/toolsets-support.ts';
import { until } from '#test/support/until.ts';

let now = 0;
beforeEach(() => {
  now = Date.parse('2026-03-01T12:00:00.000Z');
  version = 0;
});
const { control, host } = useHost('each', { now: () => now, ticks: () => now });
let version = 0;

const deployServer = (server: Partial<FrozenServer>) =>
  control.deploy(
    snapshotOf(++version, {
      connections: [connection],
      tools: [toolOf(connection, 'one', 'select 1 as one')],
      server,
    }),
  );
const caller = { identity: { ...NO_IDENTITY, sub: 'p1', groups: ['staff'] }, claims: { tenant: 'acme' }, toolsets: null };
const sign = (keys: readonly string[] = [KEY], more: Partial<PlaygroundCaller> = {}) =>
  signPlaygroundToken(keys, { session_id: 's1', username: 'ada', caller: { ...caller, ...more } }, new Date(now));
const callWith = async (token: string, headers: Record<string, string> = { 'x-service-token': SERVICE_TOKEN }) =>
  (await modern(host.mcp, 'tools/call', { name: 'one', arguments: {} }, { authorization: `Bearer ${token}`, ...headers })).status;

describe('an administrator calls from the playground', () => {
  for (const auth_type of ['none', 'bearer', 'oauth_credentials'] as const) {
    test(`when callers need ${auth_type}, named in the request log`, async () => {
      await deployServer({ auth_type });
      expect(await callWith(await sign())).toBe(200);
      const items = await until(() => control.usage.find((batch) => batch.items.length > 0)?.items);
      expect(items[0]?.token_prefix).toBe('playground:ada');
    });
  }

  test('as the caller that the server signed, and as nobody else', async () => {
    const parameters = [
      parameterOf('sub', 'string', { from: 'caller.sub' }),
      parameterOf('tenant', 'string', { from: 'caller.claims.tenant' }),
    ];
    const tools = [toolOf(connection, 'who', 'select :sub as sub, :tenant as tenant', { parameters })];
    await control.deploy(snapshotOf(++version, { connections: [connection], tools, server: { auth_type: 'bearer' } }));
    const headers = {
      authorization: `Bearer ${await sign()}`,
      'x-service-token': SERVICE_TOKEN,
      'x-sluice-caller': '{"sub":"boss"}',
    };
    const { body } = await modern(host.mcp, 'tools/call', { name: 'who', arguments: { sub: 'boss' } }, headers);
    expect(body.result?.['structuredContent']).toMatchObject({ rows: [{ sub: 'p1', tenant: 'acme' }] });
  });

  for (const auth_type of ['none', 'bearer'] as const) {
    test(`with the toolsets of the caller and no other, with auth_type ${auth_type}`, async () => {
      const tools = ['orders', 'salaries', 'loose'].map((name) => toolOf(connection, name, 'select 1 as n', { tags: [name] }));
      const served = (toolsets: FrozenToolset[]) =>
        control.deploy(snapshotOf(++version, { connections: [connection], tools, toolsets, server: { auth_type } }));
      const salaries = toolsetOf('salaries', { tags: ['salaries'] }, { groups: ['hr'] });
      await served([toolsetOf('orders', { tags: ['orders'] }), salaries]);
      const ask = async (method: string, params: Record<string, unknown>, more: Partial<PlaygroundCaller>) => {
        const headers = { authorization: `Bearer ${await sign([KEY], more)}`, 'x-service-token': SERVICE_TOKEN };
        return (await modern(host.mcp, method, params, headers)).body;
      };
      const names = async (more: Partial<PlaygroundCaller>) =>
        ((await ask('tools/list', {}, more)).result as { tools: { name: string }[] }).tools.map(({ name }) => name).sort();
      expect(await names({})).toEqual(['loose', 'orders', 'salaries']);
      expect(await names({ toolsets: null })).toEqual(['loose', 'orders', 'salaries']);
      expect(await names({ toolsets: ['salaries'] })).toEqual(['salaries']);
      expect(await names({ toolsets: [] })).toEqual([]);
      expect(await names({ toolsets: BY_GROUPS })).toEqual(['orders']);
      const hr = { toolsets: BY_GROUPS, identity: { ...NO_IDENTITY, groups: ['hr'] } } as const;
      expect(await names(hr)).toEqual(['orders', 'salaries']);
      const hidden = await ask('tools/call', { name: 'salaries', arguments: {} }, { toolsets: BY_GROUPS });
      const missing = await ask('tools/call', { name: 'salaries2', arguments: {} }, { toolsets: BY_GROUPS });
      expect(JSON.stringify(hidden.error).replace('salaries', 'x')).toBe(JSON.stringify(missing.error).replace('salaries2', 'x'));
      expect((await ask('tools/call', { name: 'salaries', arguments: {} }, hr)).result).toBeDefined();
      // Nobody in a group has it once it is for others.
      await served([toolsetOf('orders', { tags: ['orders'] }, { groups: ['hr'] })]);
      expect(await names({ toolsets: BY_GROUPS })).toEqual([]);
    });
  }

  test('with nothing but what our own server hands on, unchanged and not older than 15 minutes', async () => {
    await deployServer({ auth_type: 'bearer' });
    const token = await sign();
    expect(await callWith(token, {})).toBe(401);
    expect(await callWith(token, { 'x-service-token': 'of-somebody-else' })).toBe(401);
    expect(await callWith(await sign(['another-key-of-the-tests-0123456789abcdef']))).toBe(401);
    expect(await callWith(`${token.slice(0, -2)}xx`)).toBe(401);
    now += 15 * 60_000 + 1_000;
    expect(await callWith(token)).toBe(401);
    expect(await callWith(await sign())).toBe(200);
    await deployServer({ auth_type: 'none' });
    expect([await callWith(token), await callWith(await sign(), {}), await callWith(await sign())]).toEqual([401, 401, 200]);
  });
});
