import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { halfSent } from '#test/support/half-sent.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { connection, ENVELOPE, keyring, modern, snapshotOf, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

/** What happens to a request while its credential is checked or its body arrives. */
const GRACE_MS = 1_000;
const TOKEN = `svc_mcp_${'a'.repeat(40)}`;
const { control, host } = useHost('each', { grace_ms: GRACE_MS });
let version = 0;
const deployServer = (server: Partial<FrozenServer> = {}, tools = ['one']) =>
  control.deploy(
    snapshotOf(++version, {
      connections: [connection],
      tools: tools.map((name) => toolOf(connection, name, 'select 1 as one')),
      server,
    }),
  );
const stop = async () => {
  const ack = control.nextAck();
  control.send('stop', {});
  await ack;
};

describe('while an authorization server is asked', () => {
  let issuer: Bun.Server<undefined>;
  let asked = 0;
  let answer = Promise.withResolvers<void>();
  beforeEach(async () => {
    asked = 0;
    answer = Promise.withResolvers<void>();
    issuer = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      async fetch() {
        asked++;
        await answer.promise;
        return Response.json({ active: true });
      },
    });
    await deployServer({ auth_type: 'oauth_introspection', introspection_url: `http://127.0.0.1:${issuer.port}/introspect` });
  });
  afterEach(() => issuer.stop(true));

  const begin = async (method = 'tools/call', params: Record<string, unknown> = { name: 'one' }) => {
    const answered = modern(host.mcp, method, params, { authorization: 'Bearer good' });
    await until(() => asked === 1);
    return answered;
  };

  test('a stop waits for the call', async () => {
    const call = begin();
    await until(() => asked === 1);
    await stop();
    answer.resolve();
    expect(await call).toMatchObject({ status: 200, body: { result: { structuredContent: { rows: [{ one: 1 }] } } } });
  });

  test('a call that the stop waited for long enough is refused', async () => {
    const call = begin();
    await until(() => asked === 1);
    await stop();
    await Bun.sleep(GRACE_MS + 100);
    answer.resolve();
    expect(await call).toMatchObject({ status: 503, body: { error: { message: expect.stringContaining('stopped') } } });
  });

  test('a stream does not begin after a stop', async () => {
    const begun = begin('subscriptions/listen', { notifications: { toolsListChanged: true } });
    await until(() => asked === 1);
    await stop();
    await Bun.sleep(GRACE_MS + 100);
    answer.resolve();
    expect((await begun).status).toBe(503);
    expect((await host.health()).streams).toBe(0);
  });

  test('a deploy that removes the tool counts', async () => {
    const call = begin();
    await until(() => asked === 1);
    await deployServer({ auth_type: 'oauth_introspection', introspection_url: `http://127.0.0.1:${issuer.port}/introspect` }, [
      'another',
    ]);
    answer.resolve();
    expect((await call).body.error?.message).toContain('Unknown tool');
  });
});

describe('while the body of a call arrives', () => {
  const BODY = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'one', _meta: ENVELOPE } });
  const begin = async (authorization?: string) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': String(BODY.length),
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'one',
    };
    const call = await halfSent(
      host.mcp,
      authorization === undefined ? headers : { ...headers, authorization },
      BODY.slice(0, 20),
    );
    await call.arrived();
    return call;
  };
  const tell = async (revoked: boolean, toolsets: string[] | null = null) => {
    const id = 'id-of-the-token';
    const hash = await Bun.password.hash(TOKEN, { algorithm: 'bcrypt', cost: 4 });
    const token = {
      id,
      name: 'Claude',
      token_prefix: TOKEN.slice(0, 12),
      idle_timeout_minutes: null,
      toolsets,
      claims: {},
      expires_at: null,
      last_used_at: null,
      revoked,
      created_at: new Date().toISOString(),
      digest: createHash('sha256').update(TOKEN).digest('hex'),
      secret_hash: { $sealed: keyring.seal(hash, `mcp_token/${id}/secret_hash`) },
    };
    const before = (await host.health()).access_tokens.as_of;
    await Bun.sleep(2);
    control.send('tokens', { tokens: [token] });
    await until(async () => (await host.health()).access_tokens.as_of !== before);
  };

  test('its token can be revoked', async () => {
    await deployServer({ auth_type: 'bearer' });
    await tell(false);
    const call = await begin(`Bearer ${TOKEN}`);
    await tell(true);
    call.send(BODY.slice(20));
    expect(await call.status()).toBe(401);
  });

  test('its token can lose the toolset of the tool', async () => {
    await deployServer({ auth_type: 'bearer' });
    await tell(false);
    const call = await begin(`Bearer ${TOKEN}`);
    await tell(false, ['another']);
    call.send(BODY.slice(20));
    await until(() => call.text().includes('Unknown tool'));
  });

  test('its token goes on to count', async () => {
    await deployServer({ auth_type: 'bearer' });
    await tell(false);
    const call = await begin(`Bearer ${TOKEN}`);
    await tell(false);
    call.send(BODY.slice(20));
    expect(await call.status()).toBe(200);
  });

  test('a stop waits for it, unless its token is revoked meanwhile', async () => {
    await deployServer({ auth_type: 'bearer' });
    await tell(false);
    const [one, two] = [await begin(`Bearer ${TOKEN}`), await begin(`Bearer ${TOKEN}`)];
    await stop();
    one.send(BODY.slice(20));
    expect(await one.status()).toBe(200);
    await tell(true);
    two.send(BODY.slice(20));
    expect(await two.status()).toBe(401);
  });

  test('a deploy that asks for a credential counts', async () => {
    await deployServer();
    const call = await begin();
    await deployServer({ auth_type: 'bearer' });
    call.send(BODY.slice(20));
    expect(await call.status()).toBe(401);
  });

  test('a deploy that removes the tool counts, and one that keeps it does not', async () => {
    await deployServer();
    const [one, two] = [await begin(), await begin()];
    await deployServer({}, ['one', 'another']);
    one.send(BODY.slice(20));
    expect(await one.status()).toBe(200);
    await until(() => one.text().includes('"rows":[{"one":1}]'));
    await deployServer({}, ['another']);
    two.send(BODY.slice(20));
    await until(() => two.text().includes('Unknown tool'));
  });
});
