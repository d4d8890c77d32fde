import { afterEach, describe, expect, test } from 'bun:test';
import { startCandidateCleanup } from '#core/deploy/candidates/candidates.ts';
import { modern, rpc } from '#test/mcp-host/support.ts';
import { peopleOf } from '#test/support/people.ts';
import { clientAt, rowsOf, type Stage, stage } from './candidate-support.ts';
import { until } from '#test/support/until.ts';

let s: Stage;
afterEach(() => s.close());

const LIVE = [
  { id: 1, total: 10 },
  { id: 2, total: 20 },
];
const CHANGED = { sql_query: 'select id, total from orders where id = 1' };
const createCandidate = (body: object = {}) => s.send('POST', 'snapshots/candidate', body);
/** Where a host serves a candidate. */
const at = ({ body }: { body: Record<string, unknown> }, n = 0) =>
  new URL(`/mcp/candidate/${String(body['candidate'])}`, s.hosts[n]?.mcp);
const tokenOf = ({ body }: { body: Record<string, unknown> }) => String(body['token']);

describe('a candidate', () => {
  test('is served at its URL with its token, beside the live version, in both eras of the protocol', async () => {
    s = await stage();
    await s.edit(CHANGED);
    const made = await createCandidate({ note: 'one order', hours: 2 });
    expect(made.status).toBe(201);
    // Bun writes the matchers into what it compares.
    expect({ ...made.body }).toMatchObject({
      candidate: expect.any(String) as string,
      checksum: expect.stringMatching(/^sha256:/) as string,
      url: expect.stringMatching(/\/mcp\/candidate\/[\w-]+$/) as string,
      token: expect.stringMatching(/^svc_cand_[A-Za-z0-9]{40}$/) as string,
      note: 'one order',
      counts: { tools: 1 },
      warnings: [],
    });
    const client = await clientAt(at(made), tokenOf(made));
    expect(await rowsOf(client)).toEqual([{ id: 1, total: 10 }]);
    await client.close();
    const live = await clientAt(s.hosts[0]?.mcp ?? '');
    expect(await rowsOf(live)).toEqual(LIVE);
    await live.close();
    const headers = { authorization: `Bearer ${tokenOf(made)}` };
    const called = await modern(at(made), 'tools/call', { name: 'ledger', arguments: {} }, headers);
    expect(called.body.result).toMatchObject({ structuredContent: { rows: [{ id: 1, total: 10 }] } });
    // Nothing was deployed.
    expect((await s.send('GET', 'deploy/status')).body).toMatchObject({ snapshot_version: 1, pending_changes: 1 });
    const { body } = await s.send('GET', `snapshots/candidate/${String(made.body['candidate'])}`);
    expect(body).toEqual({ ...made.body, token: undefined, warnings: undefined });
    const [entry] = (await s.send('GET', 'history?limit=1')).body['items'] as Record<string, unknown>[];
    expect(entry).toMatchObject({ entity_type: 'snapshot', action: 'create', actor: { name: 'ada' } });
    expect(JSON.stringify(entry)).not.toContain(tokenOf(made));
  });

  test('needs its own token whatever the live version asks for, and its token counts nowhere else', async () => {
    s = await stage();
    for (const auth_type of ['none', 'bearer']) {
      await s.send('PATCH', 'server/config', { auth_type });
      await s.send('POST', 'deploy', {});
      const other = await createCandidate();
      const made = await createCandidate();
      const token = await s.send('POST', 'mcp-tokens', { name: `of ${auth_type}`, all_toolsets: true });
      const list = (url: URL, bearer: string | null) =>
        modern(url, 'tools/list', {}, bearer === null ? {} : { authorization: `Bearer ${bearer}` });
      const live = s.hosts[0]?.mcp as URL;
      if (auth_type === 'bearer') await until(async () => (await list(live, tokenOf(token))).status === 200);
      expect((await list(at(made), tokenOf(made))).status).toBe(200);
      for (const wrong of [null, 'nonsense', tokenOf(token), tokenOf(other)]) {
        const { status, headers } = await list(at(made), wrong);
        expect([status, headers.get('www-authenticate')]).toEqual([
          401,
          wrong === null ? 'Bearer' : 'Bearer error="invalid_token"',
        ]);
      }
      expect((await list(live, tokenOf(made))).status).toBe(auth_type === 'none' ? 200 : 401);
      expect((await list(new URL('/mcp/candidate/0190b0c0', live), tokenOf(made))).status).toBe(404);
      for (const { body } of [other, made]) await s.send('DELETE', `snapshots/candidate/${String(body['candidate'])}`);
    }
  });

  test('has a name of its own, and lists that nobody else may be served', async () => {
    s = await stage();
    const made = await createCandidate();
    const live = s.hosts[0]?.mcp as URL;
    const listed = async (url: URL, bearer: string) =>
      (await modern(url, 'tools/list', {}, { authorization: `Bearer ${bearer}` })).body.result;
    const name = (server: string) => ({ _meta: { 'io.modelcontextprotocol/serverInfo': { name: server } } });
    expect(await listed(live, 'none')).toMatchObject({ cacheScope: 'public', ...name('Sluice') });
    const own = `Sluice/candidate/${String(made.body['candidate'])}`;
    expect(await listed(at(made), tokenOf(made))).toMatchObject({ cacheScope: 'private', ...name(own) });
  });

  test('wrong tokens of an address count like those of the live version; the right one still opens it', async () => {
    s = await stage();
    const made = await createCandidate();
    const ask = async (url: URL, bearer: string) => {
      const { status, headers } = await modern(url, 'tools/list', {}, { authorization: `Bearer ${bearer}` });
      return [status, headers.get('retry-after') !== null];
    };
    for (let n = 0; n < 60; n++) expect(await ask(at(made), `wrong${n}`)).toEqual([401, false]);
    expect(await ask(at(made), 'wrong60')).toEqual([429, true]);
    expect(await ask(at(made), tokenOf(made))).toEqual([200, false]);
    await s.send('PATCH', 'server/config', { auth_type: 'bearer' });
    await s.send('POST', 'deploy', {});
    expect(await ask(s.hosts[0]?.mcp as URL, 'wrong61')).toEqual([429, true]);
  });

  test('stays as it was frozen while the working copy is edited and deployed', async () => {
    s = await stage();
    await s.edit(CHANGED);
    const made = await createCandidate();
    const another = { candidate: made.body['candidate'], checksum: `sha256:${'0'.repeat(64)}` };
    for (const body of [another, { ...another, dry_run: true }]) expect((await s.send('POST', 'deploy', body)).status).toBe(409);
    const same = { candidate: made.body['candidate'], checksum: made.body['checksum'], dry_run: true };
    expect((await s.send('POST', 'deploy', same)).body).toMatchObject({ checksum: made.body['checksum'], changed: true });
    await s.edit({ sql_query: 'select id, total from orders where id = 2' });
    s.t.app.snapshot_cache.max_versions = 3;
    for (let n = 0; n < 8; n++) {
      await s.edit({ title: `Ledger ${n}` });
      expect((await s.send('POST', 'deploy', {})).status).toBe(200);
    }
    const late = await s.addHost('late');
    await until(() => late.host.health().snapshot_version === 9);
    await until(async () => (await modern(at(made, 1), 'tools/list', {})).status === 401);
    for (const n of [0, 1]) {
      const client = await clientAt(at(made, n), tokenOf(made));
      expect(await rowsOf(client)).toEqual([{ id: 1, total: 10 }]);
      await client.close();
    }
    const count = async () => s.t.app.store.db.$count(s.t.app.store.tables.blobs);
    const with_it = await count();
    await s.send('DELETE', `snapshots/candidate/${String(made.body['candidate'])}`);
    expect(await count()).toBeLessThan(with_it);
    expect((await s.send('GET', 'deploy/diff')).body['changes']).toEqual([]);
    for (const version of [9, 8]) expect((await s.send('GET', `snapshots/${version}`)).status).toBe(200);
  });

  test('survives restarts of its host, also while the server is away', async () => {
    s = await stage();
    await s.edit(CHANGED);
    const made = await createCandidate();
    await s.cutOff();
    const [before] = s.hosts;
    await before?.stop();
    const folder = `${s.t.directory}/first`;
    const { testHost } = await import('#test/mcp-host/support.ts');
    const { openSource } = await import('#core/engines/index.ts');
    const host = await testHost(folder, 'http://127.0.0.1:1', {
      service_token: s.t.app.env.SVC_AGENT_SERVICE_TOKEN,
      openSource: (settings) =>
        openSource(settings, { allow_private_networks: true, forbidden: [], sqlite_dir: `${s.t.directory}/databases` }),
      now: () => s.t.app.clock().getTime(),
      ticks: () => performance.now(),
    });
    try {
      const url = new URL(`/mcp/candidate/${String(made.body['candidate'])}`, host.mcp);
      const client = await clientAt(url, tokenOf(made));
      expect(await rowsOf(client)).toEqual([{ id: 1, total: 10 }]);
      await client.close();
      // Hosts keep to the time by themselves.
      s.t.advance(25 * 3_600_000);
      expect((await modern(url, 'tools/list', {}, { authorization: `Bearer ${tokenOf(made)}` })).status).toBe(404);
    } finally {
      await host.stop();
    }
  });

  test('ends when it is deleted or expires: its sessions too', async () => {
    s = await stage();
    const made = await createCandidate({ hours: 1 });
    const headers = { authorization: `Bearer ${tokenOf(made)}` };
    const opened = await rpc(
      at(made),
      {
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
      },
      headers,
    );
    const session = { ...headers, 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    expect((await rpc(at(made), { id: 2, method: 'tools/list' }, session)).status).toBe(200);
    expect((await s.send('DELETE', `snapshots/candidate/${String(made.body['candidate'])}`)).status).toBe(204);
    await until(async () => (await rpc(at(made), { id: 3, method: 'tools/list' }, session)).status === 404);
    expect(s.hosts[0]?.host.health().sessions).toBe(0);
    expect((await s.send('GET', `snapshots/candidate/${String(made.body['candidate'])}`)).status).toBe(404);

    const second = await createCandidate({ hours: 1 });
    s.t.advance(3_600_001);
    expect((await modern(at(second), 'tools/list', {}, { authorization: `Bearer ${tokenOf(second)}` })).status).toBe(404);
    expect((await s.send('GET', 'snapshots/candidate')).body).toEqual({ items: [], total: 0 });
    // Its place is free again.
    for (let n = 0; n < 3; n++) expect((await createCandidate()).status).toBe(201);
  });
});

describe('creating a candidate', () => {
  test('is refused beyond three, beside nothing, and for hours that are out of range', async () => {
    s = await stage();
    for (const hours of [0, 73, 1.5]) expect((await createCandidate({ hours })).status).toBe(422);
    for (let n = 0; n < 3; n++) expect((await createCandidate()).status).toBe(201);
    const fourth = await createCandidate();
    expect([fourth.status, fourth.body.detail]).toEqual([409, 'There are 3 candidates already. Delete one first.']);
    const { items } = (await s.send('GET', 'snapshots/candidate')).body as { items: { candidate: string; created_at: string }[] };
    expect(items).toHaveLength(3);
    await s.send('DELETE', `snapshots/candidate/${items[0]?.candidate}`);
    expect((await s.send('DELETE', `snapshots/candidate/${items[0]?.candidate}`)).status).toBe(404);
    await s.send('POST', 'deploy/stop', {});
    const stopped = await createCandidate();
    expect([stopped.status, stopped.body.detail]).toEqual([409, expect.stringContaining('Deploy first.') as string]);
  });

  test('passes the gates of a deploy, or passes them knowingly', async () => {
    s = await stage();
    await s.send('PATCH', 'server/config', { deploy_gates: { breaking: 'block' } });
    await s.edit({ sql_query: 'select id from orders order by id' });
    const refused = await createCandidate();
    expect([refused.status, refused.body.code]).toEqual([422, 'gate_failed']);
    expect((await s.send('GET', 'snapshots/candidate')).body['total']).toBe(0);
    const passed = await createCandidate({ allow: ['breaking'] });
    expect(passed.status).toBe(201);
    expect(passed.body['warnings']).toEqual([expect.stringContaining('ledger') as string]);
  });

  const bearer = async (scopes: string[], duration_minutes = 600) => {
    const { body } = await s.send('POST', 'agent-tokens', { name: scopes.join(), duration_minutes, scopes });
    const send = (method: string, path: string, sent?: object) =>
      s.t.request(method, `/api/v1/${path}`, {
        anonymous: true,
        headers: { authorization: `Bearer ${String(body['token'])}` },
        ...(sent && { body: sent }),
      });
    return { id: String(body['id']), send };
  };

  test('is open to bearers with the scopes deploy and write, as its token calls tools, and to nobody without', async () => {
    s = await stage();
    const reader = await bearer(['read']);
    const maker = await bearer(['read', 'write', 'deploy']);
    expect((await reader.send('POST', 'snapshots/candidate', {})).status).toBe(403);
    for (const scopes of [['deploy'], ['read', 'deploy'], ['deploy', 'propose']]) {
      const refused = await (await bearer(scopes)).send('POST', 'snapshots/candidate', {});
      expect([refused.status, refused.body['detail']]).toEqual([403, expect.stringContaining('the scope write') as string]);
    }
    const made = await maker.send('POST', 'snapshots/candidate', {});
    expect(made.status).toBe(201);
    const path = `snapshots/candidate/${String(made.body['candidate'])}`;
    expect((await reader.send('GET', path)).body['token']).toBeUndefined();
    expect((await reader.send('DELETE', path)).status).toBe(403);
    expect((await maker.send('DELETE', path)).status).toBe(204);
  });

  test('gives a bearer a token that only reads, as its own previews do, and that ends with it', async () => {
    s = await stage();
    const ending = startCandidateCleanup(s.t.app);
    const [{ body: listed }] = [await s.send('GET', 'connections')];
    const [connection] = listed['items'] as { id: string }[];
    const adding = {
      connection_id: connection?.id,
      name: 'add_order',
      description: 'Adds an order of nobody, with a total of one.',
      sql_query: "insert into orders (customer, total) values ('eve', 1)",
    };
    expect((await s.send('POST', 'tools', adding)).status).toBe(201);
    const names = async (url: URL, headers: Record<string, string>) => {
      const { result = {} } = (await modern(url, 'tools/list', {}, headers)).body;
      return (result['tools'] as { name: string }[]).map(({ name }) => name);
    };
    const of_person = await createCandidate();
    expect(await names(at(of_person), { authorization: `Bearer ${tokenOf(of_person)}` })).toEqual(['add_order', 'ledger']);
    const maker = await bearer(['write', 'deploy'], 15);
    const made = await maker.send('POST', 'snapshots/candidate', { hours: 24 });
    const headers = { authorization: `Bearer ${tokenOf(made)}` };
    expect(Date.parse(String(made.body['expires_at'])) - s.t.app.clock().getTime()).toBeLessThanOrEqual(15 * 60_000);
    expect(await names(at(made), headers)).toEqual(['ledger']);
    const called = await modern(at(made), 'tools/call', { name: 'add_order', arguments: {} }, headers);
    expect(called.body.error?.code).toBe(-32_602);
    // It goes on being so after a restart, without a server.
    const host = await s.restartHost('first');
    expect(await names(new URL(at(made).pathname, host.mcp), headers)).toEqual(['ledger']);
    expect((await s.send('DELETE', `agent-tokens/${maker.id}`)).status).toBe(204);
    await until(async () => (await modern(at(made), 'tools/list', {}, headers)).status === 404);
    expect((await s.send('GET', 'snapshots/candidate')).body['total']).toBe(1);
    ending();
  });

  test('of a person ends when that person is disabled, or may deploy no longer', async () => {
    s = await stage();
    const ending = startCandidateCleanup(s.t.app);
    for (const change of [{ enabled: false }, { role: 'viewer' }]) {
      const username = `editor-${Object.keys(change).join()}`;
      const person = await peopleOf(s.t).join(s.t, { username, role: 'editor' });
      const made = await person.ask('POST', 'snapshots/candidate', {});
      const headers = { authorization: `Bearer ${tokenOf(made)}` };
      expect((await modern(at(made), 'tools/list', {}, headers)).status).toBe(200);
      expect((await s.send('PATCH', `people/${person.id}`, change)).status).toBe(200);
      await until(async () => (await modern(at(made), 'tools/list', {}, headers)).status === 404);
    }
    ending();
  });
});
