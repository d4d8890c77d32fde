import { expect, test } from 'bun:test';
import { createHttp } from '#server/http/http.ts';
import { listen } from '#server/http/listen.ts';
import { testApp } from '#test/support/app.ts';

test('two servers do not share a port, where requests would come to one or the other', async () => {
  const t = await testApp();
  const at = (port: number) => listen({ app: t.app, http: createHttp(t.app), hostname: '127.0.0.1', port, idle_seconds: 30 });
  const first = at(0);
  expect(() => at(first.port)).toThrow(`${first.port} in use`);
  expect((await fetch(`http://127.0.0.1:${first.port}/livez`)).status).toBe(200);
  await first.stop();
  const again = at(first.port);
  expect(again.port).toBe(first.port);
  await again.stop();
  await t.close();
});
