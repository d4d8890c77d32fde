import { expect, test } from 'bun:test';
import { createHosts } from '#core/hosts/host-registry.ts';
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
