import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EndedGrant, IdentityList } from '#core/contract/deploy/control.ts';
import { identityFile } from '#mcp-host/auth/signed/identity-state.ts';
import { readEvents } from '#mcp-host/protocol/events.ts';
import { paced } from '#test/support/paced.ts';
import { identityOf, personClaims, type TestKey, testKey } from '#test/support/signed-tokens.ts';
import {
  authSettings,
  connection,
  type ControlServer,
  controlServer,
  ENVELOPE,
  modern,
  rpc,
  snapshotOf,
  sqliteFolder,
  testHost,
  type TestHost,
  toolOf,
} from '#test/mcp-host/support.ts';
import { until } from '#test/support/until.ts';

const AUDIENCE = 'https://mcp.example.com/mcp';
const snapshot = snapshotOf(1, {
  connections: [connection],
  tools: [toolOf(connection, 'one', 'select 1 as one')],
  server: { auth_type: 'oauth' },
});

let folder: ReturnType<typeof sqliteFolder>;
let control: ControlServer;
let hosts: TestHost[];
let directories: string[];
let key: TestKey;
let now = 0;

/** Hosts of one installation, each with its own folder. */
async function start(directory = mkdtempSync(join(tmpdir(), 'sluice-host-'))): Promise<TestHost> {
  directories.push(directory);
  const auth = {
    ...authSettings(directory),
    identity: identityFile(join(directory, 'identity.json')),
    public_url: 'https://mcp.example.com',
  };
  const host = await testHost(directory, control.url, { now: () => now, ticks: () => now, auth, keep_alive_ms: 50 });
  hosts.push(host);
  return host;
}
const say = async (list: IdentityList): Promise<void> => {
  control.send('identity', list);
  await until(() => hosts.every(({ log }) => log.some(({ fields }) => fields['as_of'] === list.as_of)));
};
type End = Omit<EndedGrant, 'seq'> & Partial<EndedGrant>;
const end = (...ended: End[]) =>
  say({
    ...identityOf(
      [key],
      ended.map((one) => ({ seq: 0, ...one })),
    ),
    as_of: crypto.randomUUID(),
  });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const statusOf = async (token: string, host = hosts[0]!) =>
  (await modern(host.mcp, 'tools/call', { name: 'one' }, bearer(token))).status;
const seconds = () => Math.floor(now / 1_000);
const tokenOf = (more: Record<string, unknown> = {}) => key.sign(personClaims(AUDIENCE, now, more));
const INITIALIZE = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
const open = async (token: string, host = hosts[0]!) =>
  (await rpc(host.mcp, { id: 1, method: 'initialize', params: INITIALIZE }, bearer(token))).headers.get('mcp-session-id') ?? '';
const inSession = async (token: string, id: string, host = hosts[0]!) =>
  (await rpc(host.mcp, { id: 2, method: 'tools/list' }, { ...bearer(token), 'mcp-session-id': id })).status;

const openStream = (token: string, id: string) =>
  fetch(hosts[0]!.mcp, { headers: { accept: 'text/event-stream', 'mcp-session-id': id, ...bearer(token) } });
const listen = (token: string) =>
  fetch(hosts[0]!.mcp, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
      ...bearer(token),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'subscriptions/listen',
      params: { _meta: ENVELOPE, notifications: { toolsListChanged: true } },
    }),
  });

beforeEach(async () => {
  now = Date.now();
  folder = sqliteFolder();
  control = controlServer();
  hosts = [];
  directories = [];
  key = await testKey();
  await start(folder.directory);
  await until(async () => (await hosts[0]!.health()).control.connected);
  await control.deploy(snapshot);
  await say(identityOf([key]));
});
afterEach(async () => {
  for (const host of hosts) await host.stop();
  await control.stop();
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

describe('what was ended', () => {
  test('what a server with a clock ahead issued ends by the order of the database, and nothing later', async () => {
    const ahead = await key.sign(personClaims(AUDIENCE, now + 20_000, { seq: 4 }));
    const later = await key.sign(personClaims(AUDIENCE, now + 20_000, { seq: 5 }));
    expect([await statusOf(ahead), await statusOf(later)]).toEqual([200, 200]);
    await end({ sub: 'person-1', before: seconds(), seq: 5 });
    expect([await statusOf(ahead), await statusOf(later)]).toEqual([401, 200]);
  });

  test.each<[string, End]>([
    ['grant', { grant: 'grant-1', before: 0 }],
    ['person', { sub: 'person-1', before: 0 }],
    ['client', { client_id: 'client-1', before: 0 }],
  ])('is refused at once: a %s, with its sessions and streams', async (_, ended) => {
    const [host] = [hosts[0]!];
    const [token, other] = [await tokenOf(), await tokenOf({ grant: 'g2', sub: 'p2', client_id: 'c2' })];
    const [session, other_session] = [await open(token), await open(other)];
    const stream = await fetch(host.mcp, {
      headers: { accept: 'text/event-stream', 'mcp-session-id': session, ...bearer(token) },
    });
    expect(stream.status).toBe(200);
    let ended_at = 0;
    const ending = readEvents(stream.body!, () => undefined).finally(() => {
      ended_at = performance.now();
    });
    expect([await statusOf(token), await statusOf(other), (await host.health()).sessions]).toEqual([200, 200, 2]);
    const began = performance.now();
    await end({ ...ended, before: seconds() });
    expect(await statusOf(token)).toBe(401);
    expect(performance.now() - began).toBeLessThan(paced(1_000));
    await ending.catch(() => undefined);
    expect(ended_at - began).toBeLessThan(paced(1_000));
    expect((await host.health()).sessions).toBe(1);
    expect([await statusOf(other), await inSession(other, other_session)]).toEqual([200, 200]);
  });

  test('is not remembered against tokens that were issued later, but for the grant itself', async () => {
    await end({ sub: 'person-1', before: seconds() });
    expect(await statusOf(await tokenOf())).toBe(401);
    now += 1_000;
    expect(await statusOf(await tokenOf())).toBe(200);
    expect(await statusOf(await tokenOf({ iat: seconds() - 1 }))).toBe(401);
  });

  test('is remembered against every token of a grant, also one of a server whose clock is ahead', async () => {
    const ahead = await tokenOf({ iat: seconds() + 30 });
    expect(await statusOf(ahead)).toBe(200);
    await end({ grant: 'grant-1', before: seconds() });
    expect(await statusOf(ahead)).toBe(401);
  });

  test('leaves a session of the same person and client alone that a newer grant keeps', async () => {
    const [first, second] = [await tokenOf(), await tokenOf({ grant: 'grant-2' })];
    const session = await open(first);
    expect(await inSession(second, session)).toBe(200);
    await end({ grant: 'grant-1', before: seconds() });
    expect([await statusOf(first), await inSession(second, session)]).toEqual([401, 200]);
  });

  test('ends the streams that its grant opened, whatever other grants the client has', async () => {
    const tokens = [await tokenOf(), await tokenOf({ grant: 'grant-2' })];
    const session = await open(tokens[0]!);
    const ended: string[] = [];
    const read = (name: string, response: Response) => {
      expect(response.status).toBe(200);
      void readEvents(response.body!, () => undefined)
        .catch(() => undefined)
        .finally(() => ended.push(name));
    };
    read('session 1', await openStream(tokens[0]!, session));
    read('session 2', await openStream(tokens[1]!, await open(tokens[1]!)));
    read('listener 1', await listen(tokens[0]!));
    read('listener 2', await listen(tokens[1]!));
    await end({ grant: 'grant-1', before: seconds() });
    await until(() => ended.length === 2);
    expect([ended.toSorted(), (await hosts[0]!.health()).streams]).toEqual([['listener 1', 'session 1'], 2]);
    // The session is still the client's, which opens its stream with the grant that it has.
    const again = await openStream(tokens[1]!, session);
    expect(again.status).toBe(200);
    await again.body?.cancel();
  });

  test('leaves other streams of the client with the rights of their own grants', async () => {
    const whole = await tokenOf();
    const told: string[] = [];
    for (const stream of [await openStream(whole, await open(whole)), await listen(whole)]) {
      void readEvents(stream.body!, (_, data) => told.push(data)).catch(() => undefined);
    }
    expect(await statusOf(await tokenOf({ grant: 'grant-2', scope: 'sales' }))).toBe(200);
    await end({ grant: 'grant-3', before: seconds() });
    await Bun.sleep(50);
    expect(told.filter((data) => data.includes('list_changed'))).toEqual([]);
  });

  test('leaves the streams of a grant alone whose token was renewed, however many grants the client has', async () => {
    const first = await tokenOf({ exp: seconds() + 300 });
    const session = await open(first);
    const stream = await openStream(first, session);
    for (let n = 2; n <= 30; n++) expect(await statusOf(await tokenOf({ grant: `grant-${n}` }))).toBe(200);
    now += 200_000;
    expect(await statusOf(await tokenOf({ exp: seconds() + 300 }))).toBe(200);
    now += 200_000;
    await end();
    expect((await hosts[0]!.health()).streams).toBe(1);
    now += 200_000;
    await end();
    await until(async () => (await hosts[0]!.health()).streams === 0);
    await stream.body?.cancel().catch(() => undefined);
  });

  test('reaches two hosts within a second', async () => {
    const second = await start();
    await until(async () => (await second.health()).control.connected);
    const ack = control.nextAck();
    control.send('snapshot', snapshot);
    await ack;
    await until(async () => (await second.health()).status === 'serving' || (await second.health()).snapshot_version === 1);
    await end();
    const token = await tokenOf();
    expect([await statusOf(token), await statusOf(token, second)]).toEqual([200, 200]);
    const began = performance.now();
    await end({ grant: 'grant-1', before: seconds() });
    expect([await statusOf(token), await statusOf(token, second)]).toEqual([401, 401]);
    expect(performance.now() - began).toBeLessThan(paced(1_000));
  });
});

describe('a session', () => {
  test('goes on with the token of a refresh, and ends with the last of its tokens', async () => {
    const first = await tokenOf({ exp: seconds() + 300 });
    const session = await open(first);
    now += 200_000;
    const refreshed = await tokenOf({ exp: seconds() + 300 });
    expect(await inSession(refreshed, session)).toBe(200);
    now += 200_000;
    expect([await inSession(first, session), await inSession(refreshed, session)]).toEqual([401, 200]);
  });

  test('that ends while its calls run leaves none of them without an answer', async () => {
    const endless = 'with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) as n from c';
    const tools = [toolOf(connection, 'endless', endless)];
    await control.deploy(snapshotOf(2, { connections: [connection], tools, server: { auth_type: 'oauth' } }));
    const token = await tokenOf();
    const session = await open(token);
    const call = (id: number, meta: object, headers: object = {}) =>
      fetch(hosts[0]!.mcp, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'mcp-session-id': session, ...bearer(token), ...headers },
        body: JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'endless', _meta: meta } }),
      });
    const calls = [call(1, {}), call(2, { progressToken: 1 }, { accept: 'application/json, text/event-stream' })];
    await until(async () => (await hosts[0]!.health()).connections[0]?.queue.active === 2);
    await end({ sub: 'person-1', before: seconds() });
    const [plain, streamed] = await Promise.all(calls);
    const error = { code: -32_001, message: 'The session has ended. Send initialize again.' };
    // As if it had come a moment later: clients send initialize again, and then the call.
    expect([plain!.status, await plain!.json()]).toEqual([404, { jsonrpc: '2.0', id: 1, error }]);
    const said: unknown[] = [];
    await readEvents(streamed!.body!, (_, data) => said.push(JSON.parse(data)));
    expect(said.at(-1)).toEqual({ jsonrpc: '2.0', id: 2, error });
  });

  test('belongs to one person at one client', async () => {
    const session = await open(await tokenOf());
    expect(await inSession(await tokenOf({ sub: 'person-2' }), session)).toBe(404);
    expect(await inSession(await tokenOf({ client_id: 'client-2' }), session)).toBe(404);
  });
});

describe('keys', () => {
  test('rotate under load without one call refused', async () => {
    const next = await testKey();
    await say({ ...identityOf([key, next]), as_of: crypto.randomUUID() });
    const end_load = new AbortController();
    const statuses: number[] = [];
    let current = key;
    const load = Promise.all(
      Array.from({ length: 8 }, async (_, n) => {
        while (!end_load.signal.aborted)
          statuses.push(await statusOf(await current.sign(personClaims(AUDIENCE, now, { grant: `g${n}` }))));
      }),
    );
    const old = await tokenOf();
    for (const last of [await testKey(), await testKey(), await testKey()]) {
      await Bun.sleep(50);
      current = next;
      await say({ ...identityOf([key, next, last]), as_of: crypto.randomUUID() });
      expect(await statusOf(old)).toBe(200);
    }
    end_load.abort();
    await load;
    expect(statuses.length).toBeGreaterThan(20);
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
  });

  test('that are gone accept nothing more, not even what is remembered', async () => {
    const token = await tokenOf();
    const session = await open(token);
    expect(await statusOf(token)).toBe(200);
    const other = await testKey();
    await say({ ...identityOf([other]), as_of: crypto.randomUUID() });
    expect([await statusOf(token), (await hosts[0]!.health()).sessions]).toEqual([401, 0]);
    expect(session).not.toBe('');
  });

  test('with one that cannot be read count all the same', async () => {
    const list = identityOf([key]);
    const jwks = { keys: [{ kty: 'EC', crv: 'P-256', kid: 'broken', x: '!', y: '!' }, ...list.jwks.keys] };
    await say({ ...list, jwks, as_of: crypto.randomUUID() });
    expect(await statusOf(await tokenOf())).toBe(200);
    expect(hosts[0]!.log.some(({ message }) => message === 'signing_key_not_read')).toBe(true);
  });
});

describe('without its server', () => {
  test('a host goes on with what it knows, and applies expiry', async () => {
    const token = await tokenOf({ exp: seconds() + 60 });
    await control.stop();
    await until(async () => !(await hosts[0]!.health()).control.connected);
    expect(await statusOf(token)).toBe(200);
    expect(await statusOf(await tokenOf())).toBe(200);
    now += 61_000;
    expect(await statusOf(token)).toBe(401);
  });

  test('a host writes what ended once its disk takes it', async () => {
    const path = join(folder.directory, 'identity.json');
    await hosts.pop()?.stop();
    await start(folder.directory);
    await until(async () => (await hosts[0]!.health()).control.connected);
    const list = { ...identityOf([key]), as_of: crypto.randomUUID() };
    await say(list);
    await until(() => readFileSync(path, 'utf8').includes(list.as_of));
    rmSync(path);
    mkdirSync(path);
    await end({ grant: 'grant-1', before: seconds() });
    await until(() => hosts[0]!.log.some(({ message }) => message === 'copy_not_saved'));
    rmSync(path, { recursive: true });
    await until(() => existsSync(path) && readFileSync(path, 'utf8').includes('grant-1'));
  });

  test('a host starts again with the keys and the ended grants of its disk', async () => {
    const token = await tokenOf();
    const ended = await tokenOf({ grant: 'ended' });
    await end({ grant: 'ended', before: seconds() });
    await hosts[0]!.stop();
    await control.stop();
    const again = await start(folder.directory);
    expect([await statusOf(token, again), await statusOf(ended, again)]).toEqual([200, 401]);
    const kept = readFileSync(join(folder.directory, 'identity.json'), 'utf8');
    expect(kept).not.toContain('"d"');
    expect(readFileSync(join(folder.directory, 'host.json'), 'utf8')).not.toContain(key.kid);
  });

  test('a host whose list is damaged says so and lets nobody in', async () => {
    const token = await tokenOf();
    await hosts[0]!.stop();
    await control.stop();
    await Bun.write(join(folder.directory, 'identity.json'), '{"issuer":');
    const again = await start(folder.directory);
    expect(await statusOf(token, again)).toBe(401);
    expect(again.log.some(({ message }) => message === 'identity_file_damaged')).toBe(true);
  });
});
