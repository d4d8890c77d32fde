import { expect, test } from 'bun:test';
import { testApp } from '#test/support/app.ts';
import { createHttp } from '#server/http/http.ts';

test('a host is listed with the address of its connection, and no other that it states', async () => {
  const t = await testApp();
  await t.signIn();
  const ending = new AbortController();
  const headers = { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN, 'x-client-address': '203.0.113.9' };
  const url = 'http://localhost/api/internal/hosts/stream?id=h1&version=1.2.3';
  const request = new Request(url, { headers, signal: ending.signal });
  const stream = await createHttp(t.app).fetch(request, { address: '192.0.2.7' });
  expect(stream.status).toBe(200);
  const { hosts } = await t.call('deploy.status', {});
  expect(hosts).toMatchObject([{ id: 'h1', address: '192.0.2.7', program_version: '1.2.3' }]);
  ending.abort();
  await t.close();
});
