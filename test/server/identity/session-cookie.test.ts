import { expect, test } from 'bun:test';
import { type TestApp, testApp } from '#test/support/app.ts';

const ACCOUNT = { username: 'ada', password: 'correct horse' };
const PUBLIC = { SVC_PUBLIC_URL: 'https://sluice.example.com' };
const PROXY = { SVC_TRUSTED_PROXIES: '192.0.2.0/24' };

async function cookieOf(variables: Record<string, string>, headers: Record<string, string>): Promise<string> {
  const t = await testApp(variables);
  try {
    const answer = await t.send('auth.setup', ACCOUNT, { headers });
    expect(answer.status).toBe(201);
    await stays(t, headers);
    return answer.headers.get('set-cookie') ?? '';
  } finally {
    await t.close();
  }
}

/** The same browser is known again, and can sign out. */
async function stays(t: TestApp, headers: Record<string, string>): Promise<void> {
  expect((await t.send('auth.me', {}, { headers })).status).toBe(200);
  const out = await t.send('auth.logout', {}, { headers });
  expect(out.headers.get('set-cookie')).toContain('Max-Age=0');
  expect((await t.send('auth.me', {}, { headers })).status).toBe(401);
}

test.each([
  ['the host of the public URL', PUBLIC, { host: 'sluice.example.com' }],
  ['a trusted proxy that took HTTPS', PROXY, { 'x-forwarded-proto': 'https' }],
  ['a chain of proxies', PROXY, { 'x-forwarded-proto': 'HTTPS, http' }],
])('behind TLS the cookie is for HTTPS and this host alone: %s', async (_name, variables, headers) => {
  const cookie = await cookieOf(variables, headers);
  expect(cookie).toStartWith('__Host-svc_session=');
  expect(cookie).toContain('Secure');
  expect(cookie).toContain('HttpOnly');
  expect(cookie).not.toContain('Domain');
});

test.each([
  ['a stranger says HTTPS', {}, { 'x-forwarded-proto': 'https' }],
  ['a proxy took plain HTTP', { ...PROXY, ...PUBLIC }, { 'x-forwarded-proto': 'http', host: 'sluice.example.com' }],
  ['another name than that of the public URL', PUBLIC, { host: 'localhost' }],
  ['a public URL without TLS', { SVC_PUBLIC_URL: 'http://sluice.example.com' }, { host: 'sluice.example.com' }],
])('without TLS the cookie works as it is: %s', async (_name, variables, headers) => {
  const cookie = await cookieOf(variables, headers);
  expect(cookie).toStartWith('svc_session=');
  expect(cookie).not.toContain('Secure');
});
