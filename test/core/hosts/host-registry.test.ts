import { expect, test } from 'bun:test';
import { CHECK_SIGNS_MS, createHosts } from '#core/hosts/host-registry.ts';
import type { SharedHost, Sharing } from '#core/hosts/sharing.ts';
import { SIGN_OF_LIFE } from '#core/contract/deploy/control.ts';
import { connectHost } from '#test/support/host.ts';

test('a deploy hears of the hosts that took it, and of no others', async () => {
  const app = createHosts(() => new Date('2026-03-01T12:00:00Z'));
  const leave = connectHost(app, 'taking');
  app.hosts.connect('silent', () => undefined);
  const taken = app.hosts.acknowledged('sha256:one', 50, true);
  app.hosts.publish({ event: 'snapshot', data: JSON.stringify({ version: 1, checksum: 'sha256:one' }) });
  expect((await taken).map(({ id, acked_ms }) => [id, acked_ms !== null])).toEqual([
    ['taking', true],
    ['silent', false],
  ]);
  leave();
  expect(app.hosts.list().map(({ id }) => id)).toEqual(['silent']);
});

const ALIVE = { disk_fault: null };

/** A host that gives signs of life, and one of an earlier version that gives none; the clock moves with `wait`. */
function watched() {
  let now = 0;
  const { hosts } = createHosts(
    () => new Date('2026-03-01T12:00:00Z'),
    () => now,
  );
  const lost: string[] = [];
  for (const id of ['signs', 'quiet']) {
    const leave = hosts.connect(
      id,
      () => undefined,
      id === 'quiet'
        ? undefined
        : () => {
            lost.push(id);
            leave();
          },
    );
  }
  const wait = (ms: number, each: () => void = () => undefined) => {
    for (const end = now + ms; now < end;) {
      now += CHECK_SIGNS_MS;
      each();
      hosts.checkSigns();
    }
  };
  return { hosts, lost, wait, stand: (ms: number) => (now += ms) };
}

test('a host without a sign of life for ten seconds is disconnected; one of an earlier version is not', () => {
  const { hosts, lost, wait } = watched();
  wait(60_000, () => hosts.alive('signs', ALIVE));
  expect(lost).toEqual([]);
  wait(SIGN_OF_LIFE.silent_ms);
  expect([lost, hosts.silent_ms('signs')]).toEqual([[], SIGN_OF_LIFE.silent_ms]);
  wait(2 * CHECK_SIGNS_MS);
  expect([lost, hosts.list().map(({ id }) => id)]).toEqual([['signs'], ['quiet']]);
});

test('a server that stood still gives its hosts the whole time again', () => {
  const { lost, wait, stand } = watched();
  stand(60_000);
  wait(SIGN_OF_LIFE.silent_ms);
  expect(lost).toEqual([]);
  wait(2 * CHECK_SIGNS_MS);
  expect(lost).toEqual(['signs']);
});

test('signs of life that another server received count, and none is missed while they cannot be read', () => {
  const { hosts, lost, wait } = watched();
  let readable = true;
  const nothing = () => undefined;
  const later = () => Promise.resolve();
  const sharing: Sharing = {
    connected: nothing,
    gone: nothing,
    acknowledged: nothing,
    alive: nothing,
    readable: () => readable,
    confirmed: nothing,
    probe: later,
    refresh: later,
    settled: later,
  };
  hosts.share(sharing);
  const [id, connection] = ['signs', hosts.local().get('signs')!.connection];
  const none = { url: null, snapshot_version: null, error: null, checksum: null, load_ms: null, probe: null, probe_error: null };
  const stored = (signed_at: number): SharedHost => ({
    ...none,
    id,
    connection,
    connected_at: '',
    acks: 0,
    disk_fault: 'full',
    address: null,
    program_version: null,
    signed_at,
  });
  let sign = 0;
  wait(60_000, () => hosts.learn([stored((sign += 1))]));
  expect([lost, hosts.list().find((host) => host.id === id)?.disk_fault]).toEqual([[], 'full']);
  readable = false;
  wait(60_000);
  expect(lost).toEqual([]);
  readable = true;
  wait(SIGN_OF_LIFE.silent_ms, () => hosts.learn([stored(sign)]));
  expect(lost).toEqual([]);
  wait(2 * CHECK_SIGNS_MS, () => hosts.learn([stored(sign)]));
  expect(lost).toEqual(['signs']);
});
