import { afterEach, beforeEach, expect, test } from 'bun:test';
import { halfSent } from '#test/support/half-sent.ts';
import {
  connectionOf,
  type ControlServer,
  controlServer,
  ENVELOPE,
  hostHere,
  snapshotOf,
  sqliteFolder,
  type TestHost,
  toolOf,
} from '../support.ts';
import { paced } from '#test/support/paced.ts';
import { until } from '#test/support/until.ts';

let folder: ReturnType<typeof sqliteFolder>;
let control: ControlServer;
let host: TestHost;

const BODY = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'one', _meta: ENVELOPE } });
const HEADERS = {
  'content-type': 'application/json',
  'content-length': String(BODY.length),
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'one',
};
const begun = () => halfSent(host.mcp, HEADERS, BODY.slice(0, 20));

beforeEach(async () => {
  folder = sqliteFolder();
  control = controlServer();
  host = await hostHere(folder.directory, control.url, { grace_ms: 1_000 });
  await until(() => host.host.health().control.connected);
  const connection = connectionOf({});
  await control.deploy(snapshotOf(1, { connections: [connection], tools: [toolOf(connection, 'one', 'select 1 as one')] }));
});
afterEach(async () => {
  await host.stop();
  await control.stop();
  folder.remove();
});

const ENDS: readonly [string, number, (grace_ms: number) => Promise<void>][] = [
  // Half of it is longer than connections are left open afterwards.
  ['the end of the host', 4_000, (grace_ms) => host.host.stop(grace_ms)],
  [
    'a stop of the server',
    1_000,
    async () => {
      const ack = control.nextAck();
      control.send('stop', {});
      await ack;
    },
  ],
];

test.each(ENDS)('%s waits for a call whose body is arriving', async (_, grace_ms, stop) => {
  const call = await begun();
  await call.arrived();
  const stopped = stop(grace_ms);
  await Bun.sleep(grace_ms / 2);
  const began = performance.now();
  call.send(BODY.slice(20));
  expect(await call.status()).toBe(200);
  await until(() => call.text().includes('"structuredContent":{"rows":[{"one":1}]'));
  await stopped;
  expect(performance.now() - began).toBeLessThan(paced(2_000));
});

test('the end of the host does not wait for a body for longer than it has time', async () => {
  const call = await begun();
  await call.arrived();
  const began = performance.now();
  await host.host.stop(300);
  const took = performance.now() - began;
  expect(took).toBeGreaterThan(250);
  expect(took).toBeLessThan(paced(2_000));
  call.close();
});

test('nor for a caller who left', async () => {
  const call = await begun();
  await call.arrived();
  call.close();
  await call.arrived();
  const began = performance.now();
  await host.host.stop(5_000);
  expect(performance.now() - began).toBeLessThan(paced(2_000));
});

test('a body that arrives after the grace of a stop is refused as everything else is', async () => {
  const call = await begun();
  await call.arrived();
  const ack = control.nextAck();
  control.send('stop', {});
  await ack;
  await Bun.sleep(1_200);
  call.send(BODY.slice(20));
  expect(await call.status()).toBe(503);
  await until(() => call.text().includes('The server is stopped.'));
});
