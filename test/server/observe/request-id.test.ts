import { afterEach, beforeEach, expect, test } from 'bun:test';
import { createLog, type LogLine } from '#core/process/log.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
  connectHost(t.app);
});
afterEach(() => t.close());

test('every line that a request causes has its id, whoever writes it, and no other line has', async () => {
  const deploy = (id: string) => t.send('deploy.run', {}, { headers: { 'x-request-id': id } });
  const auth_type = { auth_type: 'oauth_credentials' };
  await Promise.all([deploy('first'), t.send('tools.list', {}, { headers: { 'x-request-id': 'other' } })]);
  await t.send('config.update', auth_type);
  expect((await deploy('second')).status).toBe(422);
  t.app.log.info('nobody asked');
  const idOf = (message: string) => t.log.find((line) => line.message === message)?.fields['request_id'];
  expect([idOf('deployed'), idOf('deploy refused'), idOf('nobody asked')]).toEqual(['first', 'second', undefined]);
  const token = await t.call('agent_tokens.create', { name: 'a', duration_minutes: 15 });
  const headers = { authorization: `Bearer ${token.token}`, 'x-request-id': 'third' };
  await t.call('tools.list', {}, { anonymous: true, headers });
  expect(idOf('agent call')).toBe('third');
});

test('work within work keeps the fields of both', async () => {
  const lines: LogLine[] = [];
  const log = createLog('INFO', (line) => lines.push(line));
  await log.during({ request_id: 'a' }, async () => {
    await log.during({ turn: 1 }, async () => {
      await Bun.sleep(1);
      log.from('deploy').info('inside', { own: true });
    });
    log.info('around');
  });
  expect(lines.map(({ fields }) => fields)).toEqual([{ request_id: 'a', turn: 1, own: true }, { request_id: 'a' }]);
});
