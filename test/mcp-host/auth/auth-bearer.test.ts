import { beforeEach, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { LiveToken } from '#core/contract/deploy/control.ts';
import { createSavedCopies } from '#core/lib/saved-copies.ts';
import { createLog } from '#core/process/log.ts';
import { createBearer } from '#mcp-host/auth/bearer.ts';
import { tokenFile } from '#mcp-host/auth/list-file.ts';
import { halfSent } from '#test/support/half-sent.ts';
import { connection, hostHere, keyring, modern, rpc, snapshotOf, testHost, TOKEN as SERVICE_TOKEN, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { paced } from '#test/support/paced.ts';
import { until } from '#test/support/until.ts';

let now = 0;
/** How far the clock was set, beside what has passed. */
let set_ms = 0;
beforeEach(() => {
  now = Date.parse('2026-03-01T12:00:00.000Z');
  set_ms = 0;
});
const { folder, control, host, closing, use } = useHost('each', { now: () => now + set_ms, ticks: () => now });
const snapshot = snapshotOf(1, {
  connections: [connection],
  tools: [toolOf(connection, 'one', 'select 1 as one')],
  server: { auth_type: 'bearer' },
});

beforeEach(() => control.deploy(snapshot));

const TOKEN = `svc_mcp_${'a'.repeat(40)}`;
const OTHER = `svc_mcp_${'b'.repeat(40)}`;

async function liveToken(token: string, more: Partial<LiveToken> = {}): Promise<LiveToken> {
  const id = more.id ?? crypto.randomUUID();
  const hash = await Bun.password.hash(token, { algorithm: 'bcrypt', cost: 4 });
  return {
    id,
    name: 'Claude',
    token_prefix: token.slice(0, 12),
    idle_timeout_minutes: null,
    toolsets: null,
    claims: {},
    expires_at: null,
    last_used_at: null,
    revoked: false,
    created_at: new Date(now).toISOString(),
    digest: createHash('sha256').update(token).digest('hex'),
    secret_hash: { $sealed: keyring.seal(hash, `mcp_token/${id}/secret_hash`) },
    ...more,
  };
}

/** Tells the host a list, and waits until it has it. */
async function tell(...tokens: LiveToken[]): Promise<void> {
  now += 1;
  control.send('tokens', { tokens });
  await until(async () => (await host.health()).access_tokens.as_of === new Date(now).toISOString());
}
const callWith = (token: string | null, at = host.mcp) =>
  modern(at, 'tools/call', { name: 'one' }, token === null ? {} : { authorization: `Bearer ${token}` });
const statusWith = async (token: string | null, at = host.mcp) => (await callWith(token, at)).status;

test('a missing, wrong or unknown token is refused with where to read how to authorise, and calls nothing', async () => {
  const metadata = `${host.mcp.origin}/.well-known/oauth-protected-resource/mcp`;
  const nobody = await callWith(null);
  expect([nobody.status, nobody.headers.get('www-authenticate')]).toEqual([401, `Bearer resource_metadata="${metadata}"`]);
  expect(nobody.body.error?.code).toBe(-32_000);
  const unknown = await callWith(TOKEN);
  expect(unknown.status).toBe(401);
  expect(unknown.headers.get('www-authenticate')).toBe(`Bearer resource_metadata="${metadata}", error="invalid_token"`);
  await tell(await liveToken(TOKEN));
  for (const authorization of [`Basic ${TOKEN}`, `Bearer ${TOKEN}x`, 'Bearer', `Bearer ${TOKEN}, Bearer ${OTHER}`, TOKEN]) {
    expect((await modern(host.mcp, 'tools/list', {}, { authorization })).status).toBe(401);
  }
  const in_query = new URL(`${host.mcp}?access_token=${TOKEN}`);
  expect(await statusWith(null, in_query)).toBe(401);
  expect(await statusWith(TOKEN)).toBe(200);
  expect(JSON.stringify(host.log)).not.toContain(TOKEN);
});

test('nobody’s body is read before it is clear that somebody may send it', async () => {
  await tell(await liveToken(TOKEN));
  const json = { 'content-type': 'application/json', 'content-length': '4000000' };
  const stranger = await halfSent(host.mcp, { ...json, authorization: `Bearer ${OTHER}` }, '{');
  expect(await stranger.status()).toBe(401);
  const known = await halfSent(host.mcp, { ...json, authorization: `Bearer ${TOKEN}` }, '{');
  await known.arrived();
  expect(known.text()).toBe('');
  for (const request of [stranger, known]) request.close();
});

test('a created token works and a revoked one stops as soon as the server says so, without a deploy', async () => {
  const token = await liveToken(TOKEN);
  await tell(token);
  expect(await statusWith(TOKEN)).toBe(200);
  await tell(token, await liveToken(OTHER));
  expect([await statusWith(TOKEN), await statusWith(OTHER)]).toEqual([200, 200]);
  await tell({ ...token, revoked: true }, await liveToken(OTHER));
  expect([await statusWith(TOKEN), await statusWith(OTHER)]).toEqual([401, 200]);
  await tell();
  expect(await statusWith(OTHER)).toBe(401);
});

test('a token is refused after its end with a sentence that says so, also without the server', async () => {
  const expires_at = new Date(now + 60_000).toISOString();
  await tell(await liveToken(TOKEN, { expires_at }), await liveToken(OTHER));
  control.hang();
  expect([await statusWith(TOKEN), await statusWith(OTHER)]).toEqual([200, 200]);
  now += 60_000;
  const refused = await callWith(TOKEN);
  expect([refused.status, refused.body.error?.message]).toEqual([
    401,
    `Unauthorized: the access token expired on ${expires_at}. Ask an administrator for a new one.`,
  ]);
  expect(await statusWith(OTHER)).toBe(200);
});

test('after a rotation the new token works, and the one before for 24 hours more', async () => {
  const id = crypto.randomUUID();
  const before = await liveToken(OTHER, { id });
  const ends_at = new Date(now + 86_400_000).toISOString();
  const sealed = {
    $sealed: keyring.seal(await Bun.password.hash(OTHER, { algorithm: 'bcrypt', cost: 4 }), `mcp_token/${id}/previous_hash`),
  };
  await tell(await liveToken(TOKEN, { id, previous: { digest: before.digest, secret_hash: sealed, ends_at } }));
  expect([await statusWith(TOKEN), await statusWith(OTHER)]).toEqual([200, 200]);
  now += 86_400_000;
  expect([await statusWith(TOKEN), await statusWith(OTHER)]).toEqual([200, 401]);
  expect((await callWith(OTHER)).body.error?.message).toBe(
    `Unauthorized: the access token was rotated, and its secret before ended on ${ends_at}. Ask an administrator for a new one.`,
  );
});

test('a revocation and a stop wait for no acknowledgement that the server leaves unanswered', async () => {
  const token = await liveToken(TOKEN);
  await tell(token);
  control.hang();
  await control.deploy({ ...snapshot, version: 2, checksum: `sha256:${'2'.repeat(64)}` });
  expect(await statusWith(TOKEN)).toBe(200);
  const revoked_at = performance.now();
  control.send('tokens', { tokens: [{ ...token, revoked: true }] });
  await until(async () => (await statusWith(TOKEN)) === 401);
  control.send('stop', {});
  await until(async () => (await statusWith(TOKEN)) === 503);
  expect(performance.now() - revoked_at).toBeLessThan(paced(2_000));
});

test('a digest alone is not believed: the sealed hash must fit too', async () => {
  await tell({ ...(await liveToken(OTHER)), digest: createHash('sha256').update(TOKEN).digest('hex') });
  expect(await statusWith(TOKEN)).toBe(401);
  const moved = await liveToken(TOKEN);
  await tell({ ...moved, id: crypto.randomUUID() });
  const answer = await callWith(TOKEN);
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
});

test('bcrypt is run once for a token until it is sealed anew, and never for a digest that is not known', async () => {
  const id = crypto.randomUUID();
  const hash = await Bun.password.hash(TOKEN, { algorithm: 'bcrypt', cost: 10 });
  const secret_hash = { $sealed: keyring.seal(hash, `mcp_token/${id}/secret_hash`) };
  let opened = 0;
  await host.stop();
  const openSecret = (sealed: string, place: string) => {
    opened++;
    return keyring.open(sealed, place);
  };
  use(await hostHere(folder.directory, control.url, { now: () => now, openSecret }));
  await until(async () => (await host.health()).control.connected);
  await tell(await liveToken(TOKEN, { id, secret_hash }));
  expect(await Promise.all(Array.from({ length: 20 }, () => statusWith(TOKEN)))).toEqual(Array.from({ length: 20 }, () => 200));
  for (let n = 0; n < 20; n++) await statusWith(`svc_mcp_${String(n).padStart(40, '0')}`);
  expect(opened).toBe(1);
  now += 86_400_000;
  expect(await statusWith(TOKEN)).toBe(200);
  expect(opened).toBe(1);
  await tell(await liveToken(TOKEN, { id, secret_hash: { $sealed: keyring.seal(hash, `mcp_token/${id}/secret_hash`) } }));
  expect(await statusWith(TOKEN)).toBe(200);
  expect(opened).toBe(2);
  const other = await Bun.password.hash(OTHER, { algorithm: 'bcrypt', cost: 10 });
  await tell(await liveToken(TOKEN, { id, secret_hash: { $sealed: keyring.seal(other, `mcp_token/${id}/secret_hash`) } }));
  expect(await statusWith(TOKEN)).toBe(401);
});

test('a flood of wrong tokens is turned away with 429, and those with a valid one do not notice', async () => {
  await tell(await liveToken(TOKEN));
  const statuses = await Promise.all(Array.from({ length: 100 }, (_, n) => statusWith(`wrong${n}`)));
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(30);
  expect(Number((await callWith('wrong')).headers.get('retry-after'))).toBeWithin(1, 61);
  expect(await statusWith(TOKEN)).toBe(200);
  const proxied = (service_token: string) =>
    modern(
      host.mcp,
      'tools/list',
      {},
      {
        authorization: 'Bearer wrong',
        'x-service-token': service_token,
        'x-client-address': '203.0.113.9',
      },
    );
  expect([(await proxied(SERVICE_TOKEN)).status, (await proxied('guessed')).status]).toEqual([401, 429]);
  now += 60_001;
  expect(await statusWith('wrong')).toBe(401);
});

test('a clock that is set back by an hour does not make an hour of the minute', async () => {
  await tell(await liveToken(TOKEN));
  await Promise.all(Array.from({ length: 70 }, (_, n) => statusWith(`wrong${n}`)));
  expect(await statusWith('wrong')).toBe(429);
  set_ms = -3_600_000;
  expect(Number((await callWith('wrong')).headers.get('retry-after'))).toBeWithin(1, 61);
  now += 60_001;
  expect(await statusWith('wrong')).toBe(401);
});

test('a token that was idle for too long ends; each use keeps it', async () => {
  await tell(await liveToken(TOKEN, { idle_timeout_minutes: 10 }));
  for (let minutes = 0; minutes < 30; minutes += 9) {
    now += 9 * 60_000;
    expect(await statusWith(TOKEN)).toBe(200);
  }
  now += 10 * 60_000 + 1;
  expect(await statusWith(TOKEN)).toBe(401);
});

test('a token that is said to be used in the future ends when it was idle from now', async () => {
  const last_used_at = new Date(now + 86_400_000).toISOString();
  await tell(await liveToken(TOKEN, { idle_timeout_minutes: 10, last_used_at }));
  now += 10 * 60_000 + 1;
  expect(await statusWith(TOKEN)).toBe(401);
});

test('uses are reported in batches, the first at once, and calls carry the prefix of their token', async () => {
  const token = await liveToken(TOKEN);
  await tell(token);
  await Promise.all(Array.from({ length: 5 }, () => callWith(TOKEN)));
  const batches = control.usage as unknown as { token_uses?: object[]; items: Record<string, unknown>[] }[];
  const uses = () => batches.flatMap(({ token_uses = [] }) => token_uses);
  await until(() => uses().length > 0 && batches.flatMap(({ items }) => items).length >= 5);
  await callWith(TOKEN);
  await Bun.sleep(700);
  expect(uses()).toEqual([{ id: token.id, last_used_at: new Date(now).toISOString() }]);
  expect(batches.flatMap(({ items }) => items)[0]).toMatchObject({ name: 'one', token_prefix: TOKEN.slice(0, 12) });
});

describe('a revocation ends what the token opened', () => {
  test('its sessions and streams, and no others', async () => {
    const [mine, other] = [await liveToken(TOKEN), await liveToken(OTHER)];
    await tell(mine, other);
    const open = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      const client = new ModernClient({ name: 'a', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
      await client.connect(new ModernTransport(host.mcp, { requestInit: { headers } }));
      await client.listen({ toolsListChanged: true });
      const legacy = new LegacyClient({ name: 'b', version: '1' });
      await legacy.connect(new LegacyTransport(host.mcp, { requestInit: { headers } }));
      closing.push(
        () => client.close(),
        () => legacy.close(),
      );
    };
    await open(TOKEN);
    await open(OTHER);
    await until(async () => (await host.health()).streams === 4);
    expect((await host.health()).sessions).toBe(2);
    await tell({ ...mine, revoked: true }, other);
    expect(await host.health()).toMatchObject({ sessions: 1, streams: 2 });
  });

  test('a session is of no use to another token', async () => {
    await tell(await liveToken(TOKEN), await liveToken(OTHER));
    const params = { protocolVersion: '2025-11-25' };
    const opened = await rpc(host.mcp, { id: 1, method: 'initialize', params }, { authorization: `Bearer ${TOKEN}` });
    const session = opened.headers.get('mcp-session-id') ?? '';
    const ping = (token: string) =>
      rpc(host.mcp, { id: 2, method: 'ping' }, { authorization: `Bearer ${token}`, 'mcp-session-id': session });
    expect([(await ping(OTHER)).status, (await ping(TOKEN)).status]).toEqual([404, 200]);
  });
});

describe('a host that is cut off', () => {
  test('starts again with the list of before, applies idle times itself, and says how old the list is', async () => {
    await tell(await liveToken(TOKEN), await liveToken(OTHER, { idle_timeout_minutes: 10 }));
    const as_of = new Date(now).toISOString();
    now += 9 * 60_000;
    expect(await statusWith(OTHER)).toBe(200);
    await host.stop();
    await control.stop();
    use(await testHost(folder.directory, control.url, { now: () => now }));
    const health = (await (await fetch(new URL('/health', host.mcp))).json()) as Record<string, unknown>;
    expect(health['access_tokens']).toEqual({ as_of, current: false });
    now += 9 * 60_000;
    expect([await statusWith(TOKEN), await statusWith(OTHER)]).toEqual([200, 200]);
    now += 11 * 60_000;
    expect([await statusWith(TOKEN), await statusWith(OTHER)]).toEqual([200, 401]);
  });

  test('writes a revocation once its disk takes it, and keeps to it after a restart', async () => {
    const [token, path] = [await liveToken(TOKEN), join(folder.directory, 'tokens.json')];
    await host.stop();
    use(await testHost(folder.directory, control.url, { now: () => now, keep_alive_ms: 50 }));
    await until(async () => (await host.health()).control.connected);
    await tell(token);
    await until(() => existsSync(path) && readFileSync(path, 'utf8').includes(token.id));
    rmSync(path);
    mkdirSync(path);
    await tell({ ...token, revoked: true });
    await until(() => host.log.some(({ message }) => message === 'copy_not_saved'));
    rmSync(path, { recursive: true });
    await until(() => existsSync(path) && readFileSync(path, 'utf8').includes('"revoked":true'));
  });

  test('keeps a list that came before its end, also while it is written', async () => {
    const real = tokenFile(join(folder.directory, 'kept.json'));
    const disk = Promise.withResolvers<void>();
    const write: typeof real.write = async (list) => {
      await disk.promise;
      await real.write(list);
    };
    const openSecret = (sealed: string, place: string) => keyring.open(sealed, place);
    const bearer = createBearer({
      file: { ...real, write },
      openSecret,
      copies: createSavedCopies({ onChange: () => undefined }),
      log: createLog('ERROR', () => undefined),
      now: () => now,
    });
    const token = await liveToken(TOKEN);
    const used = bearer.use([token]);
    const kept = bearer.keep().then(() => 'kept');
    expect(await Promise.race([kept, Bun.sleep(20)])).toBeUndefined();
    disk.resolve();
    await kept;
    expect(await real.read()).toMatchObject({ tokens: [{ id: token.id }] });
    await used;
  });

  test('lets nobody in when its list is damaged', async () => {
    await tell(await liveToken(TOKEN));
    await host.stop();
    await control.stop();
    writeFileSync(join(folder.directory, 'tokens.json'), '{"as_of":"2026');
    use(await testHost(folder.directory, control.url, { now: () => now }));
    expect(await statusWith(TOKEN)).toBe(401);
    expect(host.log.some(({ message }) => message === 'token_file_damaged')).toBe(true);
  });
});

test('a change of auth_type ends what callers of the old kind opened', async () => {
  await tell(await liveToken(TOKEN));
  const params = { protocolVersion: '2025-11-25' };
  await rpc(host.mcp, { id: 1, method: 'initialize', params }, { authorization: `Bearer ${TOKEN}` });
  expect((await host.health()).sessions).toBe(1);
  await control.deploy(snapshotOf(2, { ...snapshot.content, server: { ...snapshot.content.server, auth_type: 'none' } }));
  expect((await host.health()).sessions).toBe(0);
  expect(await statusWith(null)).toBe(200);
});
