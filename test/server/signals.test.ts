import { expect, test } from 'bun:test';
import { onSignal, signal } from '#core/platform/signals.ts';
import { testApp } from '#test/support/app.ts';

test('a message that its listener cannot read is logged, and ends neither the sender nor the listener', async () => {
  const t = await testApp({}, undefined, { metadata: 'sqlite' });
  const read: unknown[] = [];
  const end = onSignal(t.app, 'lists', (text) => read.push(JSON.parse(text)));
  await signal(t.app, 'lists', 'no JSON');
  await signal(t.app, 'lists', '[1]');
  expect(read).toEqual([[1]]);
  const [line] = t.log.filter(({ level }) => level === 'WARNING');
  expect(line).toMatchObject({ message: 'a message from another server was not understood', fields: { name: 'lists' } });
  end();
  await t.close();
});
