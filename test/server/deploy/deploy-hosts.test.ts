import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { Acknowledgement } from '#core/deploy/hosts.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
});
afterEach(() => t.close());

const rename = (server_name: string) => t.request('PATCH', '/api/v1/server/config', { body: { server_name } });
async function deploy(server_name: string) {
  await rename(server_name);
  const started = performance.now();
  const { body } = await t.request('POST', '/api/v1/deploy', { body: {} });
  const hosts = body['hosts'] as { id: string; acked_ms: number | null }[];
  const silent = hosts.filter(({ acked_ms }) => acked_ms === null).map(({ id }) => id);
  return { body, silent, ms: performance.now() - started };
}
const hostsOf = async () => (await t.request('GET', '/api/v1/deploy/status')).body['hosts'] as Record<string, unknown>[];
const ack = (more: Partial<Acknowledgement> = {}): Acknowledgement => ({
  boot_id: 'b',
  version: null,
  checksum: null,
  load_ms: 1,
  url: null,
  error: null,
  request_id: null,
  ...more,
});

test('a host that does not answer is named, and not waited for again until it answers', async () => {
  connectHost(t.app, 'answers');
  t.app.hosts.connect('silent', () => undefined);
  const first = await deploy('One');
  expect(first.silent).toEqual(['silent']);
  expect(first.ms).toBeGreaterThan(4_000);
  expect(first.ms).toBeLessThan(8_000);
  const second = await deploy('Two');
  expect(second.silent).toEqual(['silent']);
  expect(second.ms).toBeLessThan(2_000);
  expect(String(second.body['warnings'])).toContain('The host silent is connected but has not answered');

  // It is there again.
  const checksum = String(second.body['checksum']);
  t.app.hosts.acknowledge('silent', ack({ version: 2, checksum }));
  const third = deploy('Three');
  await Bun.sleep(500);
  const [known] = (await hostsOf()).filter(({ id }) => id === 'answers');
  t.app.hosts.acknowledge('silent', ack({ version: 3, checksum: checksumOf('answers') }));
  expect(known).toMatchObject({ snapshot_version: 3 });
  expect((await third).silent).toEqual([]);

  // A new connection is waited for like any other.
  const end = t.app.hosts.connect('silent', () => undefined);
  expect((await deploy('Four')).ms).toBeGreaterThan(4_000);
  end();
}, 30_000);

const checksumOf = (id: string): string => t.app.hosts.own().get(id)?.ack?.checksum ?? '';

test('a host that refused a snapshot says why in the status too, until it takes one', async () => {
  t.app.hosts.connect('h1', ({ event, data }) => {
    if (event === 'listen') t.app.hosts.acknowledge('h1', ack({ request_id: data.request_id }));
    if (event !== 'snapshot') return;
    const { version, checksum } = JSON.parse(typeof data === 'string' ? data : '') as { version: number; checksum: string };
    const answer = version === 2 ? ack({ version: 1, error: 'The port is in use.' }) : ack({ version, checksum });
    queueMicrotask(() => t.app.hosts.acknowledge('h1', answer));
  });
  await deploy('One');
  expect(await hostsOf()).toMatchObject([{ id: 'h1', snapshot_version: 1, error: null }]);
  expect(String((await deploy('Two')).body['warnings'])).toContain('The host h1 rejected the snapshot: The port is in use.');
  expect(await hostsOf()).toMatchObject([{ id: 'h1', snapshot_version: 1, error: 'The port is in use.' }]);
  await deploy('Three');
  expect(await hostsOf()).toMatchObject([{ id: 'h1', snapshot_version: 3, error: null }]);
});
