import { afterEach, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startCluster } from '#test/support/cluster.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { pebble_is_here, startPebble } from '#test/support/pebble.ts';
import { freePort } from '#test/support/free-port.ts';
import { startPrograms } from '#test/support/programs.ts';
import { block, blocks, filled, newReader, type Reader } from './guide.ts';
import { until } from '#test/support/until.ts';

/** Guides that are about an installation of their own. */
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
}, 60_000);

function reading(): Reader {
  const reader = newReader();
  ends.push(() => reader.remove());
  return reader;
}
const SETUP = block('first-tool.md', '/auth/setup');

test.skipIf(!pebble_is_here)(
  'a reader of the guide to HTTPS gets a certificate, and is served with it',
  async () => {
    const reader = reading();
    const [port, https_port] = [freePort(), freePort()];
    const pebble = await startPebble(port);
    ends.push(() => pebble.stop());
    const [start = '', turnOn = ''] = blocks('https.md');
    const secret = () => crypto.randomUUID();
    const secrets = { SVC_ENCRYPTION_KEY: secret(), SVC_JWT_SECRET: secret(), SVC_AGENT_SERVICE_TOKEN: secret() };
    const command = reader.command(filled(start, { ...secrets, SVC_SSL_PORT: String(https_port) }));
    const env = { SVC_ACME_DIRECTORY_URL: pebble.directory, NODE_EXTRA_CA_CERTS: pebble.authority_file, SVC_DEMO: 'false' };
    const programs = await startPrograms({ command, port, env, directory: reader.folder });
    ends.push(() => programs.stop());
    // The names lead to this machine, and its trust is in the authority.
    writeFileSync(join(reader.folder, 'root.pem'), await pebble.root());
    writeFileSync(
      join(reader.folder, '.curlrc'),
      `connect-to = "ui.example.com:443:127.0.0.1:${https_port}"\ncacert = "${join(reader.folder, 'root.pem')}"\n`,
    );
    reader.places['http://127.0.0.1:3000'] = programs.url;
    const out = await reader.follow(`${SETUP}\n${turnOn}`);
    expect(out).toContain('"status":"issued"');
    expect(out).toContain('"domains":["ui.example.com","mcp.example.com"]');
  },
  60_000,
);

test.skipIf(!reachable.postgres || !reachable.redis)(
  'a reader of the guide to many hosts reaches every host with a deploy',
  async () => {
    const reader = reading();
    const [server = '', host = '', deploy = ''] = blocks('many-hosts.md');
    const command = (script: string) => (env: Readonly<Record<string, string>>) => reader.command(filled(script, env));
    const cluster = await startCluster(11, undefined, { server: command(server), host: command(host) });
    ends.push(() => cluster.stop());
    const first = await cluster.startServer();
    await first.demo();
    await cluster.startServer();
    const hosts = [cluster.startHost(), cluster.startHost()];
    reader.places['http://127.0.0.1:3000'] = cluster.url;
    await reader.follow(SETUP);
    interface Status {
      readonly hosts: readonly { readonly url: string }[];
    }
    await until(
      async () => (await reader.ask<Status>('GET /deploy/status')).hosts.length === 2,
      () => hosts.map((each) => each.output()).join('\n'),
    );
    await reader.follow(`call PATCH /server/config '{"server_name": "Many hosts"}'`);
    const out = await reader.follow(deploy);
    expect(out.match(/"acked_ms":\d/g)).toHaveLength(2);
    for (const { url } of (await reader.ask<Status>('GET /deploy/status')).hosts) {
      const client = await connectClient('v2', `${url}/mcp`);
      expect(await client.tools()).toHaveLength(5);
      await client.close();
    }
  },
  90_000,
);

test('a reader of the guide to upgrades goes on with what was there', async () => {
  const reader = reading();
  const before = await startPrograms();
  ends.push(() => before.stop());
  await before.demo();
  await before.signIn();
  await before.stop();
  Object.assign(reader.env, { SVC_DATA_DIR: before.directory });
  await reader.follow(block('upgrade.md', 'sluice backup'));
  const command = reader.command(block('upgrade.md', 'sluice start'));
  const programs = await startPrograms({ command, again: before, env: { SVC_DEMO: 'false' } });
  ends.push(() => programs.stop());
  expect(await reader.follow(block('upgrade.md', 'sluice check'))).toMatch(/ok\s+metadata database/);
  await programs.signIn();
  expect(await programs.api('GET', '/snapshots')).toMatchObject({ items: [{ version: 1, active: true }] });
}, 60_000);

test.skipIf(!reachable.postgres)(
  'a reader of the guide to PostgreSQL moves everything; clients keep their tools and tokens',
  async () => {
    const reader = reading();
    const [move = '', start = ''] = blocks('move-to-postgresql.md');
    const database = await testDatabase('postgresql');
    ends.push(() => database.drop());
    let programs = await startPrograms();
    ends.push(() => programs.stop());
    await programs.demo();
    await programs.signIn();
    Object.assign(reader.env, { SVC_DATA_DIR: programs.directory });
    reader.places['postgres://sluice:…@db.example.com/sluice'] = database.url;
    await programs.api('PATCH', '/server/config', { auth_type: 'bearer' });
    const { token } = await programs.api<{ token: string }>('POST', '/mcp-tokens', { name: 'kept', all_toolsets: true });
    await programs.api('POST', '/deploy', { note: 'before the move' });
    const tools = async () => {
      const client = await connectClient('v2', programs.mcp_url, { authorization: `Bearer ${token}` });
      const listed = await client.tools();
      await client.close();
      return listed.length;
    };
    await until(async () => (await tools()) === 5, programs.output);
    const paths = ['/connections', '/tools', '/people', '/snapshots', '/history?limit=100', '/export-import/export'];
    // Times of the request itself.
    const own = /"(last_seen_at|exported_at)":"[^"]+",/g;
    const contents = () =>
      Promise.all(paths.map(async (path) => JSON.stringify(await programs.api('GET', path)).replaceAll(own, '')));
    const before = await contents();
    const refused = await reader.run(move);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('Stop it') });
    await programs.stop();
    expect(await reader.follow(move)).toMatch(/\d+ rows were copied/);
    expect(await reader.run(move)).toMatchObject({ code: 1, err: expect.stringContaining('holds data of Sluice already') });

    const env = { SVC_DATABASE_URL: database.url, SVC_DEMO: 'false' };
    expect(start).toContain('SVC_DATABASE_URL=postgres://sluice:…@db.example.com/sluice');
    programs = await startPrograms({ again: programs, env });
    await programs.signIn();
    expect(await contents()).toEqual(before);
    await until(async () => (await tools()) === 5, programs.output);
    const { hosts } = await programs.api<{ hosts: { error: string | null }[] }>('GET', '/deploy/status');
    expect(hosts).toMatchObject([{ error: null }]);
    const { snapshot_version } = await programs.api<{ snapshot_version: number }>('POST', '/deploy', { note: 'after the move' });
    expect(snapshot_version).toBe(2);
    await until(async () => (await tools()) === 5, programs.output);
  },
  90_000,
);
