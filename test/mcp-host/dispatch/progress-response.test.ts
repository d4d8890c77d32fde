import { expect, test } from 'bun:test';
import { createUnread } from '#mcp-host/limits/unread.ts';
import { streamProgress } from '#mcp-host/dispatch/progress-response.ts';
import { sendingOf } from '#mcp-host/runtime/sending.ts';

const NOTHING_ASKED = { progress_token: null, log_level: null };

test('a stream that has nothing to tell says so now and then, and no more once it ended', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const response = await streamProgress(NOTHING_ASKED, 'tool', () => promise, 50);
  setTimeout(() => resolve('{"id":1}'), 250);
  const text = await response.text();
  expect(text.match(/^:\n\n/gm)?.length).toBeGreaterThanOrEqual(2);
  expect(text).toEndWith('data: {"id":1}\n\n');
  await Bun.sleep(120);
});

test('a call that is soon over is answered in one piece', async () => {
  const response = await streamProgress(NOTHING_ASKED, 'tool', async () => '{"id":1}', 1);
  expect(await response.text()).not.toContain(':\n\n:');
});

test('whoever left is told nothing more', async () => {
  const { promise } = Promise.withResolvers<string>();
  const response = await streamProgress(NOTHING_ASKED, 'tool', () => promise, 20);
  const reader = response.body!.getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toBe(':\n\n');
  await reader.cancel();
  // A beat into the closed stream would throw where nobody catches it.
  await Bun.sleep(100);
});

test('results that are left unread count for their address: the oldest is dropped, the others are whole', async () => {
  const unread = createUnread(6_500_000);
  const gates: (() => void)[] = [];
  const result = `{"text":"${'é'.repeat(1_000_000)}"}`;
  const start = async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    gates.push(() => resolve(result));
    const response = await streamProgress(NOTHING_ASKED, 'tool', () => promise, 60_000);
    const sending = sendingOf(response);
    if (sending !== undefined) unread.add('192.0.2.1', sending);
    return response;
  };
  const responses = [await start(), await start(), await start(), await start()];
  for (const open of gates) open();
  const [first, second, third, last] = responses.map((response) => response.text().catch(String));
  expect(await last).toContain(result);
  expect(await first).toContain('does not keep up');
  expect(await second).toContain(result);
  expect(await third).toContain(result);
});
