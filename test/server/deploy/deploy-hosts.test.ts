import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { activeSnapshot } from '#core/versions/deployment.ts';
import type { Acknowledgement } from '#core/contract/deploy/control.ts';
import { WAITS } from '#core/platform/platform.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';
import { toBatch } from '#test/support/usage.ts';
import { until } from '#test/support/until.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
});
afterEach(() => t.close());

const rename = (server_name: string) => t.request('PATCH', '/api/v1/server/config', { body: { server_name } });
async function deployAs(server_name: string) {
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
  await t.close();
  const waits = { ...WAITS };
  t = await testApp({}, undefined, { waits });
  await t.signIn();
  /** Fails at the limit of the test if it waits. */
  const deployAtOnce = (name: string) => {
    waits.hosts_ms = 3_600_000;
    return deployAs(name);
  };
  const deployWaiting = async (name: string) => {
    // Long enough for the host that answers, on a busy machine too.
    waits.hosts_ms = 1_500;
    const done = await deployAs(name);
    expect(done.ms).toBeGreaterThanOrEqual(waits.hosts_ms - 1);
    return done;
  };
  connectHost(t.app, 'answers');
  t.app.hosts.connect('silent', () => undefined);
  expect((await deployWaiting('One')).silent).toEqual(['silent']);
  const second = await deployAtOnce('Two');
  expect(second.silent).toEqual(['silent']);
  expect(String(second.body['warnings'])).toContain('The host silent is connected but has not answered');

  // It is there again.
  const checksum = String(second.body['checksum']);
  t.app.hosts.acknowledge('silent', ack({ version: 2, checksum }));
  const third = deployAtOnce('Three');
  await until(async () => (await hostsOf()).some((one) => one['id'] === 'answers' && one['snapshot_version'] === 3));
  t.app.hosts.acknowledge('silent', ack({ version: 3, checksum: checksumOf('answers') }));
  expect((await third).silent).toEqual([]);

  // A new connection is waited for like any other, once: by the probe of the first deploy above, here by the deploy itself.
  const end = t.app.hosts.connect('silent', () => undefined);
  await deployWaiting('Four');
  await deployAtOnce('Five');
  end();
});

const checksumOf = (id: string): string => t.app.hosts.local().get(id)?.ack?.checksum ?? '';

describe('while no host is connected', () => {
  const say = (path: 'usage' | 'leave', more: object) =>
    t.request('POST', `/api/internal/hosts/h1/${path}`, {
      body: { boot_id: 'boot-1', ...more },
      headers: { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN },
    });
  /** A deploy, and whether it waited for a host: the first one to come answers it. */
  const deployAlone = async (to = t) => {
    const asked = to.request('POST', '/api/v1/deploy', { body: {} });
    const answered = asked.then(() => true);
    let waited = false;
    while (!waited && !(await Promise.race([answered, Bun.sleep(1)]))) waited = to.app.hosts.awaited();
    if (waited) {
      connectHost(to.app);
      const { version = 0, checksum = '' } = (await activeSnapshot(to.app)) ?? {};
      to.app.hosts.acknowledge('h1', ack({ version, checksum }));
    }
    const { body } = await asked;
    return { body, waited };
  };

  test('a deploy does not wait for the first one to be started', async () => {
    const { body, waited } = await deployAlone();
    expect([waited, body['hosts']]).toEqual([false, []]);
    expect(body['warnings']).toContain('No host is connected. The snapshot is served as soon as one connects.');
  });

  test('a deploy waits for one that reported a moment ago', async () => {
    expect((await say('usage', { seq: 1, ...toBatch([]) })).status).toBe(204);
    expect(await deployAlone()).toMatchObject({ waited: true, body: { hosts: [{ id: 'h1', error: null }] } });
  });

  test('a deploy waits for none that signed off, or reported long ago', async () => {
    await say('usage', { seq: 1, ...toBatch([]) });
    expect((await say('leave', {})).status).toBe(204);
    expect((await deployAlone()).waited).toBe(false);
    await say('usage', { seq: 1, ...toBatch([]) });
    t.advance(60_000);
    expect((await deployAlone()).waited).toBe(false);
  });

  test('a start of a host signs off by its name, and with the service token', async () => {
    const nameless = await t.request('POST', '/api/internal/hosts/h1/leave', {
      body: {},
      headers: { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN },
    });
    expect(nameless).toMatchObject({ status: 422, body: { detail: 'boot_id is required.' } });
    expect((await t.request('POST', '/api/internal/hosts/h1/leave', { body: { boot_id: 'boot-1' } })).status).toBe(401);
  });

  test('a deploy waits for the one that is started beside the server', async () => {
    const whole = await testApp({ SVC_ROLE: 'all' });
    try {
      await whole.signIn();
      expect(await deployAlone(whole)).toMatchObject({ waited: true, body: { hosts: [{ id: 'h1', error: null }] } });
    } finally {
      await whole.close();
    }
  });
});

test('a host that refused a snapshot says why in the status too, until it takes one', async () => {
  t.app.hosts.connect('h1', ({ event, data }) => {
    if (event === 'listen') t.app.hosts.acknowledge('h1', ack({ request_id: data.request_id }));
    if (event !== 'snapshot') return;
    const { version, checksum } = JSON.parse(typeof data === 'string' ? data : '') as { version: number; checksum: string };
    const answer = version === 2 ? ack({ version: 1, error: 'The port is in use.' }) : ack({ version, checksum });
    queueMicrotask(() => t.app.hosts.acknowledge('h1', answer));
  });
  await deployAs('One');
  expect(await hostsOf()).toMatchObject([{ id: 'h1', snapshot_version: 1, error: null }]);
  expect(String((await deployAs('Two')).body['warnings'])).toContain('The host h1 rejected the snapshot: The port is in use.');
  expect(await hostsOf()).toMatchObject([{ id: 'h1', snapshot_version: 1, error: 'The port is in use.' }]);
  await deployAs('Three');
  expect(await hostsOf()).toMatchObject([{ id: 'h1', snapshot_version: 3, error: null }]);
});
