import { expect, test } from 'bun:test';
import { modern, snapshotOf, testHost } from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

const { folder, control, host, use } = useHost('each', null);

const ping = async () => {
  const { status, body } = await modern(host.mcp, 'tools/list', {});
  return [status, body.error?.message ?? null];
};
const OPEN = { host: '0.0.0.0' };

test('a host that requires authentication does not serve the open snapshot on its disk, and says why', async () => {
  use(await testHost(folder.directory, control.url));
  await until(async () => (await host.health()).control.connected);
  await control.deploy(snapshotOf(1, { server: OPEN }));
  expect((await ping())[0]).toBe(200);
  await host.stop();
  control.fail(503);

  use(await testHost(folder.directory, control.url, { require_auth: true }));
  expect(await ping()).toEqual([503, expect.stringContaining('SVC_REQUIRE_AUTH')]);
  expect(await host.health()).toMatchObject({ status: 'stopped', snapshot_version: null });
});

test('nor one that the server sends: what it serves stays', async () => {
  use(await testHost(folder.directory, control.url, { require_auth: true }));
  await until(async () => (await host.health()).control.connected);
  expect(await control.deploy(snapshotOf(1))).toMatchObject({ version: 1, error: null });
  const refused = await control.deploy(snapshotOf(2, { server: OPEN }));
  expect(refused).toMatchObject({ version: 1, error: expect.stringContaining('SVC_REQUIRE_AUTH') });
  expect((await ping())[0]).toBe(200);
  expect(await control.deploy(snapshotOf(3, { server: { ...OPEN, auth_type: 'bearer' } }))).toMatchObject({
    version: 3,
    error: null,
  });
});

test('a host to which nothing was deployed yet does not say that it was stopped', async () => {
  use(await testHost(folder.directory, control.url));
  await until(() => host.host.health().control.connected);
  const told = control.nextAck();
  control.send('stop', {});
  expect(await told).toMatchObject({ version: null });
  expect(host.log.map(({ message }) => message)).toContain('nothing_deployed');
  expect(host.log.map(({ message }) => message)).not.toContain('stopped');
  await control.deploy(snapshotOf(1));
  const again = control.nextAck();
  control.send('stop', {});
  await again;
  expect(host.log.map(({ message }) => message)).toContain('stopped');
});
