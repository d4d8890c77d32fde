import { expect, test } from 'bun:test';
import { fileURLToPath } from 'node:url';
import { testApp } from '#test/support/app.ts';
import { freePort } from '#test/support/free-port.ts';
import { until } from '#test/support/until.ts';

const PROGRAM = fileURLToPath(new URL('../../support/jwt-issuer-program.mjs', import.meta.url));
const RESOURCE = 'https://mcp.example.com/mcp';

test('access tokens of oidc-provider pass every check, with the keys that its metadata names', async () => {
  const port = freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const child = Bun.spawn([process.execPath, PROGRAM, String(port), 'a secret of a test', RESOURCE], {
    stdout: 'ignore',
    stderr: 'ignore',
  });
  const t = await testApp();
  try {
    await until(async () => (await fetch(`${issuer}/.well-known/openid-configuration`)).ok);
    const answer = await fetch(`${issuer}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa('reports:a+secret+of+a+test')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'read', resource: RESOURCE }),
    });
    const { access_token } = (await answer.json()) as { access_token?: string };
    expect(answer.status).toBe(200);
    // The clock of the tests stands still.
    t.advance(Date.now() - t.app.clock().getTime());
    await t.signIn();
    const jwt_issuers = [{ issuer, audience: RESOURCE }];
    await t.call('config.update', { jwt_issuers });
    const { body } = await t.send('config.check_token', { token: access_token });
    expect(body).toMatchObject({ accepted: true, caller: { client_id: 'reports', groups: ['data'], scopes: ['read'] } });
    await t.call('config.update', { jwt_issuers: [{ issuer, audience: 'another' }] });
    const other = await t.send('config.check_token', { token: access_token });
    expect(other.body).toMatchObject({ accepted: false, caller: null });
  } finally {
    await t.close();
    child.kill();
    await child.exited;
  }
}, 60_000);
