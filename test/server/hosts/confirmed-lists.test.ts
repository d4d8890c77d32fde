import { Database } from 'bun:sqlite';
import { afterEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHosts } from '#core/hosts/host-registry.ts';
import type { SharedHost } from '#core/hosts/sharing.ts';
import { createConfirmedLists } from '#core/hosts/confirmed-lists.ts';
import { modern, testHost } from '#test/mcp-host/support.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { listeningServer, type ListeningServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

/** How much later a host hears what the server says. */
const LATE_MS = 300;

/** The control channel of a server, over a slow line. */
function slowLine({ url }: ListeningServer): string {
  const line = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const { method, headers, signal } = request;
      const body = method === 'GET' ? null : await request.text();
      const answer = await fetch(`${url}${pathname}${search}`, { method, headers, body, signal });
      if (!pathname.endsWith('/stream')) return answer;
      const late = new TransformStream<Uint8Array, Uint8Array>({
        async transform(chunk, controller) {
          await Bun.sleep(LATE_MS);
          controller.enqueue(chunk);
        },
      });
      return new Response(answer.body?.pipeThrough(late) ?? null, { headers: answer.headers });
    },
  });
  ends.push(() => line.stop(true));
  return `http://127.0.0.1:${line.port}`;
}

function folder(): string {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-lists-'));
  ends.push(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A host of the first server, which has deployed one tool for callers with a token. */
async function deployedHost(server: ListeningServer, sqlite_dir: string) {
  new Database(join(sqlite_dir, 'shop.sqlite'), { create: true }).run('create table products (id integer)');
  const { app } = server.server;
  const directory = folder();
  mkdirSync(directory, { recursive: true });
  const host = await testHost(directory, slowLine(server), {
    service_token: server.service_token,
    openSecret: (sealed, place) => app.keyring.open(sealed, place),
  });
  ends.push(() => host.stop());
  await server.signIn();
  const body = await server.call('connections.create', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  const tool = { connection_id: body.id, name: 'find', description: 'Finds everything there is.', sql_query: 'select 1 as n' };
  expect((await server.send('tools.create', tool)).status).toBe(201);
  await server.call('config.update', { auth_type: 'bearer' });
  await until(() => app.hosts.local().size === 1);
  await server.call('deploy.run', {});
  await until(async () => (await host.health()).snapshot_version === 1);
  return async (token: unknown) =>
    (await modern(host.mcp, 'tools/list', {}, { authorization: `Bearer ${String(token)}` })).status;
}

const variables = (sqlite_dir: string) => ({ SVC_SQLITE_DIR: sqlite_dir, SVC_FASTMCP_PORT: '0' });

test('an access token counts, and is refused once revoked, from the moment that the API has answered', async () => {
  const sqlite_dir = folder();
  const server = await listeningServer(undefined, variables(sqlite_dir));
  ends.push(() => server.stop());
  const statusOf = await deployedHost(server, sqlite_dir);
  const body = await server.call('mcp_tokens.create', { name: 'Claude', all_toolsets: true });
  expect(await statusOf(body.token)).toBe(200);
  await server.call('mcp_tokens.delete', { id: body.id });
  expect(await statusOf(body.token)).toBe(401);
}, 60_000);

describe.skipIf(!reachable.postgres || !reachable.redis)('two servers with PostgreSQL and Redis', () => {
  test('an access token that one makes counts at a host of the other from the moment of the answer', async () => {
    const sqlite_dir = folder();
    const database = await testDatabase('postgresql');
    ends.push(() => database.drop());
    const shared = { ...variables(sqlite_dir), SVC_KV: 'redis', SVC_REDIS_URL: 'redis://127.0.0.1:6379/11' };
    const first = await listeningServer(database.url, shared);
    ends.push(() => first.stop());
    const second = await listeningServer(database.url, shared);
    ends.push(() => second.stop());
    const statusOf = await deployedHost(first, sqlite_dir);
    await second.signIn();
    await until(() => second.server.app.hosts.list().length === 1);
    // The second server has heard by then what the host says of the lists.
    await second.call('mcp_tokens.create', { name: 'before', all_toolsets: true });
    const body = await second.call('mcp_tokens.create', { name: 'Claude', all_toolsets: true });
    expect(await statusOf(body.token)).toBe(200);
    await second.call('mcp_tokens.delete', { id: body.id });
    expect(await statusOf(body.token)).toBe(401);
  }, 60_000);
});

describe('who waits until hosts have taken a list', () => {
  const settled = async (waiting: Promise<void>) =>
    (await Promise.race([waiting.then(() => 'settled'), Bun.sleep(20).then(() => 'waits')])) === 'settled';

  test('waits for each, until it has taken this state or a later one, or has gone', async () => {
    const hosts = new Set(['a', 'b', 'c']);
    const lists = createConfirmedLists(() => hosts);
    for (const host of hosts) lists.confirm(host, 'tokens:1');
    let told = 0;
    const waiting = lists.sendAndWait('tokens:2', 60_000, async () => {
      told++;
    });
    lists.confirm('a', 'tokens:2');
    lists.confirm('b', 'tokens:1');
    lists.confirm('b', 'identity:9');
    expect([await settled(waiting), told]).toEqual([false, 1]);
    lists.confirm('b', 'tokens:3');
    expect(await settled(waiting)).toBe(false);
    hosts.delete('c');
    lists.forgetDisconnected();
    expect(await settled(waiting)).toBe(true);
  });

  test('waits for none that never said what it takes, nor for one that said nothing last time', async () => {
    const lists = createConfirmedLists(() => ['old', 'silent']);
    const tell = () => Promise.resolve();
    lists.confirm('silent', 'tokens:1');
    await lists.sendAndWait('tokens:2', 20, tell);
    await lists.sendAndWait('tokens:3', 60_000, tell);
    lists.confirm('silent', 'tokens:3');
    const waiting = lists.sendAndWait('tokens:4', 60_000, tell);
    expect(await settled(waiting)).toBe(false);
    lists.confirm('silent', 'tokens:4');
    await waiting;
  });

  test('compares states as numbers', async () => {
    const lists = createConfirmedLists(() => ['a']);
    const tell = () => Promise.resolve();
    const tenth = lists.sendAndWait('tokens:10', 60_000, tell);
    lists.confirm('a', 'tokens:9');
    lists.confirm('a', 'tokens:unknown');
    expect(await settled(tenth)).toBe(false);
    lists.confirm('a', 'tokens:10');
    await tenth;
    await lists.sendAndWait('tokens:9', 60_000, tell);
  });

  test('forgets what a host has taken that has gone, from whichever server', async () => {
    const { hosts } = createHosts(() => new Date());
    const tell = () => Promise.resolve();
    const start = { connected_at: '2026-03-01T12:00:00.000Z', address: null, program_version: null };
    const there = { ...start, url: null, snapshot_version: null, error: null };
    const silent = { acks: 0, checksum: null, load_ms: null, probe: null, probe_error: null, disk_fault: null, signed_at: null };
    const other: SharedHost = { id: 'other', connection: 'c', ...there, ...silent };
    const leave = hosts.connect('mine', () => undefined);
    hosts.learn([other]);
    for (const id of ['mine', 'other']) hosts.confirmed(id, 'tokens:1');
    const waiting = hosts.sendAndConfirm('tokens:2', 60_000, tell);
    leave();
    expect(await settled(waiting)).toBe(false);
    hosts.learn([]);
    await waiting;
    // They come again under the same name, and have not said anything yet.
    const end = hosts.connect('mine', () => undefined);
    hosts.learn([other]);
    expect(await settled(hosts.sendAndConfirm('tokens:3', 60_000, tell))).toBe(true);
    // A connection that replaced another one keeps what the host has taken.
    hosts.confirmed('mine', 'tokens:3');
    hosts.connect('mine', () => undefined);
    end();
    expect(await settled(hosts.sendAndConfirm('tokens:4', 100, tell))).toBe(false);
  });
});
