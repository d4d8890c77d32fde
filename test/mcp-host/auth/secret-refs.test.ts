import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLog } from '#core/process/log.ts';
import { createSecretRefs } from '#core/process/secret-refs/secret-refs.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { connection, modern, snapshotOf, toolOf } from '#test/mcp-host/support.ts';
import { useHost } from '#test/mcp-host/use-host.ts';
import { until } from '#test/support/until.ts';

const { control, host, folder } = useHost('all', () => ({
  resolveSecret: createSecretRefs({
    environment: {},
    commands: new Map(),
    private_paths: [],
    vault: null,
    ttl_seconds: () => 300,
    log: createLog('ERROR', () => undefined),
  }),
}));

/** The client's secret that the other authorization server accepts, and how often it was asked. */
let accepted = 'first';
let requests = 0;
let issuer: Bun.Server<undefined>;
beforeAll(() => {
  issuer = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      requests++;
      if (request.headers.get('authorization') !== `Basic ${btoa(`sluice:${accepted}`)}`)
        return new Response(null, { status: 401 });
      return Response.json({ active: new URLSearchParams(await request.text()).get('token') === 'good' });
    },
  });
});
afterAll(() => issuer.stop(true));

const path = () => join(folder.directory, 'client-secret');
const ref = () => ({ ref: `file:${path()}` });
const change = (secret: string) => writeFileSync(path(), `${secret}\n`);
const serve = (version: number, server: Partial<FrozenServer>) => {
  const tools = [toolOf(connection, 'one', 'select 1 as one')];
  return control.deploy(snapshotOf(version, { connections: [connection], tools, server }));
};
const statusWith = async (token: string) =>
  (await modern(host.mcp, 'tools/call', { name: 'one' }, { authorization: `Bearer ${token}` })).status;

test('an OAuth client signs in with the secret of its reference, also right after it was changed', async () => {
  change('first');
  await serve(1, { auth_type: 'oauth_credentials', oauth_clients: [{ client_id: 'app', client_secret: ref() }] });
  const request = async (client_secret: string) => {
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'app', client_secret });
    const answer = await fetch(new URL('/oauth/token', host.mcp), { method: 'POST', body });
    return { status: answer.status, token: String(((await answer.json()) as { access_token?: string }).access_token) };
  };
  expect((await request('wrong')).status).toBe(401);
  const { status, token } = await request('first');
  expect([status, await statusWith(token)]).toEqual([200, 200]);
  change('second');
  // A wrong secret was compared a moment ago, so the reference is read again within a second.
  await until(async () => (await request('second')).status === 200);
  expect((await request('first')).status).toBe(401);
  expect(await statusWith(token)).toBe(200);
});

test('the introspection endpoint gets the secret of the reference, and the new one after a refusal', async () => {
  change('first');
  await serve(2, {
    auth_type: 'oauth_introspection',
    introspection_url: `http://127.0.0.1:${issuer.port}/introspect`,
    introspection_client_id: 'sluice',
    introspection_client_secret: ref(),
    introspection_cache_ttl_seconds: 0,
  });
  // The test before left another secret in the cache, which was confirmed within this second.
  await until(async () => (await statusWith('good')) === 200);
  accepted = 'second';
  change('second');
  const before = requests;
  expect(await statusWith('good')).toBe(200);
  expect(requests - before).toBe(2);
  expect(await statusWith('bad')).toBe(401);
});
