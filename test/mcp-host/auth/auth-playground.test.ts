import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { signPlaygroundToken } from '#core/edge/playground-token.ts';
import { NO_IDENTITY } from '#core/lib/call/identity.ts';
import type { FrozenServer } from '#snapshots/format.ts';
import {
  connectionOf,
  type ControlServer,
  controlServer,
  KEY,
  modern,
  parameterOf,
  snapshotOf,
  sqliteFolder,
  testHost,
  type TestHost,
  TOKEN as SERVICE_TOKEN,
  toolOf,
  until,
} from '../support.ts';

let folder: ReturnType<typeof sqliteFolder>;
let control: ControlServer;
let host: TestHost;
let now = 0;
const connection = connectionOf({});
let version = 0;

beforeEach(async () => {
  now = Date.parse('2026-03-01T12:00:00.000Z');
  version = 0;
  folder = sqliteFolder();
  control = controlServer();
  host = await testHost(folder.directory, control.url, { now: () => now, ticks: () => now });
  await until(() => host.host.health().control.connected);
});
afterEach(async () => {
  await host.stop();
  await control.stop();
  folder.remove();
});

const deploy = (server: Partial<FrozenServer>) =>
  control.deploy(
    snapshotOf(++version, {
      connections: [connection],
      tools: [toolOf(connection, 'one', 'select 1 as one')],
      server,
    }),
  );
const caller = { identity: { ...NO_IDENTITY, sub: 'p1', groups: ['staff'] }, claims: { tenant: 'acme' } };
const sign = (keys: readonly string[] = [KEY]) =>
  signPlaygroundToken(keys, { session_id: 's1', username: 'ada', caller }, new Date(now));
const call = async (token: string, headers: Record<string, string> = { 'x-service-token': SERVICE_TOKEN }) =>
  (await modern(host.mcp, 'tools/call', { name: 'one', arguments: {} }, { authorization: `Bearer ${token}`, ...headers })).status;

describe('an administrator calls from the playground', () => {
  for (const auth_type of ['bearer', 'oauth_credentials'] as const) {
    test(`when callers need ${auth_type}, named in the request log`, async () => {
      await deploy({ auth_type });
      expect(await call(await sign())).toBe(200);
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

  test('with nothing but what our own server hands on, unchanged and not older than 15 minutes', async () => {
    await deploy({ auth_type: 'bearer' });
    const token = await sign();
    expect(await call(token, {})).toBe(401);
    expect(await call(token, { 'x-service-token': 'of-somebody-else' })).toBe(401);
    expect(await call(await sign(['another-key-of-the-tests-0123456789abcdef']))).toBe(401);
    expect(await call(`${token.slice(0, -2)}xx`)).toBe(401);
    now += 15 * 60_000 + 1_000;
    expect(await call(token)).toBe(401);
    expect(await call(await sign())).toBe(200);
  });
});
