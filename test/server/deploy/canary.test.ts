import { afterEach, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { watchCanary } from '#core/deploy/candidates/canary.ts';
import { endCanary } from '#core/deploy/candidates/stored-canaries.ts';
import { runningCanary } from '#core/versions/deployment.ts';
import { AppError } from '#core/errors.ts';
import { systemRequest } from '#core/context/context.ts';
import { modern, rpc } from '#test/mcp-host/support.ts';
import { type Stage, stage } from './candidate-support.ts';
import { until } from '#test/support/until.ts';

let s: Stage;
afterEach(() => s.close());

/** What tells the sides apart: the canary answers one order, the live version two. */
const CHANGED = { sql_query: 'select id, total from orders where id = 1' };
const start = (canary: object = {}, more: object = {}) =>
  s.send('POST', 'deploy', { canary: { percent: 50, minutes: 10, ...canary }, ...more });
interface Side {
  calls: number;
  errors: number;
  error_rate: number;
  p95_ms: number;
}
interface State {
  id: string;
  status: string;
  reason: string | null;
  version: number | null;
  live: Side;
  canary: Side;
}
const state = async () => (await s.send('GET', 'deploy/status')).body['canary'] as State;

/** A session at a host; without credentials each is a caller of its own. */
async function session(n = 0): Promise<string> {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const { headers } = await rpc(s.hosts[n]?.mcp as URL, { id: 1, method: 'initialize', params });
  return headers.get('mcp-session-id') ?? '';
}
/** How many orders a caller is answered: 1 by the canary, 2 by the live version, -1 for an error. */
async function sideOf(headers: Record<string, string>, n = 0): Promise<number> {
  const { body } = await rpc(
    s.hosts[n]?.mcp as URL,
    { id: 1, method: 'tools/call', params: { name: 'ledger', arguments: {} } },
    headers,
  );
  const { isError, structuredContent } = body.result as { isError?: boolean; structuredContent?: { rows: unknown[] } };
  return isError === true ? -1 : (structuredContent?.rows.length ?? 0);
}
const of = (id: string) => ({ 'mcp-session-id': id });
const sessions = (count: number) => Promise.all(Array.from({ length: count }, () => session()));

describe('a canary', () => {
  test('has lists kept for nobody else, for as long as it runs', async () => {
    s = await stage();
    const scope = async () => (await modern(s.hosts[0]?.mcp as URL, 'tools/list')).body.result?.['cacheScope'];
    expect(await scope()).toBe('public');
    await s.edit(CHANGED);
    await start();
    expect(await scope()).toBe('private');
    await s.send('POST', 'deploy/abort', {});
    expect(await scope()).toBe('public');
  });

  test('keeps each caller on its side over hosts and their restarts, and counts each call once', async () => {
    s = await stage();
    await s.addHost('second');
    const callers = await sessions(40);
    await s.edit(CHANGED);
    const began = await start();
    expect([began.status, began.body['warnings']]).toEqual([200, []]);
    const sides = await Promise.all(callers.map((id) => sideOf(of(id))));
    const on_canary = sides.filter((rows) => rows === 1).length;
    expect(on_canary).toBeGreaterThan(5);
    expect(on_canary).toBeLessThan(35);
    expect(await Promise.all(callers.map((id) => sideOf(of(id), 1)))).toEqual(sides);
    await s.restartHost('second');
    await until(() => s.hosts[1]?.host.health().snapshot_version === 1);
    expect(await Promise.all(callers.map((id) => sideOf(of(id), 1)))).toEqual(sides);
    // The live version changes: whoever is on the canary stays there.
    await s.edit({ sql_query: 'select id, total from orders order by id desc' });
    const deployed = await s.send('POST', 'deploy', {});
    expect(deployed.body).toMatchObject({ snapshot_version: 2, changed: true });
    expect(JSON.stringify(deployed.body['warnings'])).toContain('A canary is running');
    expect(await Promise.all(callers.map((id) => sideOf(of(id))))).toEqual(sides);
    await until(async () => (await state()).live.calls + (await state()).canary.calls === 160);
    expect(await state()).toMatchObject({
      status: 'running',
      live: { calls: 4 * (40 - on_canary), errors: 0, error_rate: 0 },
      canary: { calls: 4 * on_canary, errors: 0, error_rate: 0 },
    });
    const ended = await s.send('POST', 'deploy/abort', { reason: 'seen enough' });
    expect(ended.body).toMatchObject({ status: 'aborted', reason: 'Aborted by ada: seen enough' });
    await until(async () => (await sideOf(of(callers[sides.indexOf(1)] ?? ''))) === 2);
    // Nothing is left of what it served.
    expect(await s.t.app.store.db.$count(s.t.app.store.tables.candidates)).toBe(0);
    expect((await s.send('POST', 'deploy/abort', {})).status).toBe(409);
    const { id } = ended.body;
    const twice = await s.send('POST', 'deploy/promote', { canary: id });
    expect([twice.status, twice.body.detail]).toEqual([409, 'The canary has ended. Aborted by ada: seen enough.']);
    // Nobody promotes or aborts another one than the one that they read.
    await s.edit(CHANGED);
    expect((await start()).status).toBe(200);
    for (const path of ['deploy/promote', 'deploy/abort']) {
      const other = await s.send('POST', path, { canary: id });
      expect([other.status, other.body.detail]).toEqual([
        409,
        'A different canary is running than the one that you read. Read it again first.',
      ]);
    }
    const running = await state();
    expect(running.status).toBe('running');
    expect((await s.send('POST', 'deploy/abort', { canary: running.id })).status).toBe(200);
  });

  test('decides by the credential, else by the session, else by the address, in both eras', async () => {
    s = await stage({}, { trusted_proxies: [] });
    await s.edit(CHANGED);
    await start();
    const live = s.hosts[0]?.mcp as URL;
    const called = async () => {
      const { body } = await modern(live, 'tools/call', { name: 'ledger', arguments: {} });
      return (body.result as { structuredContent: { rows: unknown[] } }).structuredContent.rows.length;
    };
    const first = await called();
    for (let n = 0; n < 5; n++) expect(await called()).toBe(first);
    expect(await sideOf({})).toBe(first);
    // What a session is greeted with is of its own side already.
    const sides = new Set<number>();
    for (const id of await sessions(20)) sides.add(await sideOf(of(id)));
    expect(sides).toEqual(new Set([1, 2]));
    await s.send('POST', 'deploy/abort', {});
    // One credential: the same side with every session and without one.
    await s.send('PATCH', 'server/config', { auth_type: 'bearer' });
    const names = Array.from({ length: 6 }, (_, n) => `caller ${n}`);
    const tokens = await Promise.all(
      names.map(async (name) => String((await s.send('POST', 'mcp-tokens', { name, all_toolsets: true })).body['token'])),
    );
    await s.edit({ sql_query: 'select id, total from orders order by id' });
    await s.send('POST', 'deploy', {});
    await s.edit(CHANGED);
    await start();
    for (const token of tokens) {
      const headers = { authorization: `Bearer ${token}` };
      const plain = await sideOf(headers);
      const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
      for (let n = 0; n < 2; n++) {
        const opened = await rpc(live, { id: 1, method: 'initialize', params }, headers);
        expect(await sideOf({ ...headers, ...of(opened.headers.get('mcp-session-id') ?? '') })).toBe(plain);
      }
      const { body } = await modern(live, 'tools/call', { name: 'ledger', arguments: {} }, headers);
      expect((body.result as { structuredContent: { rows: unknown[] } }).structuredContent.rows).toHaveLength(plain);
    }
  });

  test('tells who moves that lists changed, at its start and at its end, and nobody else', async () => {
    s = await stage();
    const callers = await sessions(16);
    const heard = new Map<string, number>();
    const ends = await Promise.all(callers.map((id) => listen(id, () => heard.set(id, (heard.get(id) ?? 0) + 1))));
    await s.edit({ description: 'One order only. Totals are in euros, without tax.', ...CHANGED });
    await start();
    const moved: string[] = [];
    for (const id of callers) if ((await sideOf(of(id))) === 1) moved.push(id);
    expect(moved.length).toBeGreaterThan(0);
    await until(() => heard.size === moved.length);
    expect([...heard.keys()].sort()).toEqual([...moved].sort());
    await s.send('POST', 'deploy/abort', {});
    await until(() => moved.every((id) => heard.get(id) === 2));
    expect(heard.size).toBe(moved.length);
    for (const end of ends) end();
  });

  test('promotes itself at its end: all callers get it as the next version, and those on it hear nothing', async () => {
    s = await stage();
    const callers = await sessions(12);
    await s.edit(CHANGED);
    const made = await s.send('POST', 'snapshots/candidate', { note: 'one order' });
    expect((await start({ minutes: 5 }, { candidate: made.body['candidate'], note: 'less is more' })).status).toBe(200);
    const path = `snapshots/candidate/${String(made.body['candidate'])}`;
    expect([(await s.send('DELETE', path)).status, (await start()).status]).toEqual([409, 409]);
    await s.edit({ sql_query: 'select 1 as id' });
    await watchCanary(s.t.app);
    expect((await state()).status).toBe('running');
    s.t.advance(5 * 60_000);
    await watchCanary(s.t.app);
    expect(await state()).toMatchObject({ status: 'promoted', version: 2, reason: 'Promoted itself at its end.' });
    expect(await Promise.all(callers.map((id) => sideOf(of(id))))).toEqual(callers.map(() => 1));
    const [entry] = (await s.send('GET', 'history?action=deploy&limit=1')).body['items'] as Record<string, unknown>[];
    expect(entry).toMatchObject({
      entity_name: 'v2',
      actor: { type: 'system', name: 'canary' },
      snapshot: { note: 'less is more' },
    });
    expect((await s.send('GET', 'snapshots/2')).body).toMatchObject({ checksum: made.body['checksum'], active: true });
  });

  test('is not aborted by a metadata database that is away for a moment, and ends once', async () => {
    s = await stage();
    await s.edit(CHANGED);
    await start({ minutes: 1 });
    const { app } = s.t;
    const row = await runningCanary(app);
    if (row === null) throw new Error('No canary is running.');
    s.t.advance(60_000);
    let away = 1;
    const write: typeof app.store.write = (work) => {
      if (away-- > 0) throw new AppError('unavailable', 'The metadata database does not answer.');
      return app.store.write(work);
    };
    const failed = await watchCanary({ ...app, store: { ...app.store, write } }).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: 'unavailable' });
    expect((await state()).status).toBe('running');
    await watchCanary(app);
    expect((await state()).status).toBe('promoted');
    const late = { status: 'aborted', reason: 'Too late.' } as const;
    const again = app.store.write((tx) => endCanary({ ...systemRequest('test'), app }, tx, row, late));
    expect(await again.catch((error: unknown) => error)).toMatchObject({ code: 'conflict' });
    expect((await state()).status).toBe('promoted');
  });

  test('does not undo what was deployed while it ran, unless somebody promotes it', async () => {
    s = await stage();
    await s.edit(CHANGED);
    await start({ minutes: 1 });
    await s.edit({ title: 'Ledger', sql_query: 'select id, total from orders order by id' });
    await s.send('POST', 'deploy', {});
    s.t.advance(60_000);
    await watchCanary(s.t.app);
    expect(await state()).toMatchObject({
      status: 'aborted',
      reason: expect.stringContaining('version 2 was deployed') as string,
    });
    await s.edit(CHANGED);
    await start();
    await s.edit({ title: 'The ledger' });
    await s.send('POST', 'deploy', {});
    const { body } = await s.send('POST', 'deploy/promote', {});
    expect(body).toMatchObject({ snapshot_version: 4, changed: true });
    expect(JSON.stringify(body['warnings'])).toContain('Version 3, which was deployed while the canary ran, is replaced.');
  });
});

describe('the limits of a canary', () => {
  test('abort it at once: failed calls', async () => {
    s = await stage();
    await s.send('POST', 'notices', { name: 'chat', url: 'https://hooks.example.com/x', events: ['canary_aborted'] });
    await s.edit({ sql_query: 'select id, abs(total - 9223372036854775807 - 1 - total) as total from orders' });
    expect((await start({ min_calls: 10, max_error_rate: 0.2 })).status).toBe(200);
    const callers = await sessions(20);
    const failing: string[] = [];
    for (const id of callers) if ((await sideOf(of(id))) === -1) failing.push(id);
    await until(async () => (await state()).canary.calls === failing.length);
    if (failing.length < 10) {
      await watchCanary(s.t.app);
      expect((await state()).status).toBe('running');
    }
    while ((await state()).canary.calls < 10) {
      await sideOf(of(failing[0] ?? ''));
      await Bun.sleep(50);
    }
    await watchCanary(s.t.app);
    const { status, reason } = await state();
    expect([status, reason]).toEqual([
      'aborted',
      expect.stringMatching(/^Limit passed: 100% of \d+ calls failed; the limit is 20%\.$/),
    ]);
    for (const id of callers) expect(await sideOf(of(id))).toBe(2);
    const notices = await s.t.app.store.db.select().from(s.t.app.store.tables.notice_deliveries);
    expect(notices.map(({ event }) => event)).toEqual(['canary_aborted']);
    expect(JSON.parse(notices[0]?.body ?? '{}')).toMatchObject({ type: 'canary_aborted', data: { reason } });
  });

  test('abort it at once: a slower statement', async () => {
    s = await stage();
    const slow =
      'with recursive n(i) as (select 1 union all select i + 1 from n where i < 600000) select max(i) as id, 1 as total from n';
    await s.edit({ sql_query: slow });
    await start({ min_calls: 5, max_p95_ratio: 3, max_error_rate: null });
    const callers = await sessions(20);
    // A live call that waited for a processor is the 95th percentile of few: more calls leave it behind.
    await until(async () => {
      for (const id of callers) await sideOf(of(id));
      await watchCanary(s.t.app);
      return (await state()).status !== 'running';
    });
    const { status, reason } = await state();
    expect([status, reason]).toEqual(['aborted', expect.stringMatching(/^Limit passed: the p95 is [\d.]+ ms, [\d.]+ times the/)]);
    for (const id of callers) expect(await sideOf(of(id))).toBe(2);
  });
});

test('whoever may deploy the working copy may promote it, and nothing weaker', async () => {
  s = await stage();
  const become = (role: 'owner' | 'editor') => {
    const { people } = s.t.app.store.tables;
    return s.t.app.store.write((tx) => tx.update(people).set({ role }).where(eq(people.username, 'ada')));
  };
  const promote = () => s.send('POST', 'deploy/promote', {});
  await become('editor');
  const toolset = await s.send('POST', 'toolsets', { name: 'sales' });
  expect(toolset.status).toBe(201);
  expect((await start()).status).toBe(200);
  expect((await promote()).status).toBe(200);
  expect((await s.send('PATCH', `toolsets/${String(toolset.body['id'])}`, { title: 'Sales' })).status).toBe(200);
  const candidate = await s.send('POST', 'snapshots/candidate', {});
  expect(candidate.status).toBe(201);
  const body = { candidate: candidate.body['candidate'] };
  // An administrator tightened it since: neither what is live nor the working copy has it.
  await become('owner');
  expect((await s.send('PATCH', `toolsets/${String(toolset.body['id'])}`, { groups: ['sales'] })).status).toBe(200);
  await become('editor');
  const refused = await s.send('POST', 'deploy', body);
  expect([refused.status, refused.body.code]).toEqual([403, 'admin_only']);
  await become('owner');
  expect((await s.send('PATCH', `toolsets/${String(toolset.body['id'])}`, { groups: [] })).status).toBe(200);
  await become('editor');
  expect((await s.send('POST', 'deploy', body)).body).toMatchObject({ changed: true, snapshot_version: 3 });
});

test('a canary passes the gates, needs something that differs, and ends with a stop', async () => {
  s = await stage();
  const same = await start();
  expect([same.status, same.body.code]).toEqual([422, 'invalid']);
  expect(await s.t.app.store.db.$count(s.t.app.store.tables.candidates)).toBe(0);
  for (const wrong of [{ percent: 0 }, { percent: 51 }, { minutes: 121 }, { max_error_rate: 2 }, { min_calls: 0 }]) {
    expect((await start(wrong)).status).toBe(422);
  }
  await s.send('PATCH', 'server/config', { deploy_gates: { breaking: 'block' } });
  await s.edit({ sql_query: 'select id from orders order by id' });
  expect((await start()).body.code).toBe('gate_failed');
  expect((await start({}, { dry_run: true, allow: ['breaking'] })).status).toBe(200);
  expect(await state()).toBeNull();
  expect((await start({}, { allow: ['breaking'] })).status).toBe(200);
  // What was passed knowingly at its start is passed at its end.
  await s.send('POST', 'deploy/promote', {});
  expect(await state()).toMatchObject({ status: 'promoted', version: 2 });
  await s.edit({ sql_query: 'select id, total from orders order by id' });
  expect((await start({}, { allow: ['breaking'] })).status).toBe(200);
  await s.send('POST', 'deploy/stop', {});
  expect(await state()).toMatchObject({ status: 'aborted', reason: 'The server was stopped.' });
  expect((await start()).status).toBe(409);
});

test('a dry run of a canary is refused where its start would be, says what it would do, and leaves nothing', async () => {
  s = await stage();
  const dry = (canary: object = {}, more: object = {}) => start(canary, { dry_run: true, ...more });
  expect((await dry()).status).toBe(422);
  await s.edit(CHANGED);
  const made = await s.send('POST', 'snapshots/candidate', {});
  const candidate = String(made.body['candidate']);
  for (const [more, what] of [
    [{}, 'the working copy'],
    [{ candidate }, `the candidate ${candidate}`],
  ] as const) {
    const rehearsed = await dry({ percent: 20, max_p95_ratio: null }, more);
    expect([rehearsed.status, rehearsed.body]).toMatchObject([
      200,
      {
        snapshot_version: 1,
        changed: true,
        checksum: made.body['checksum'],
        plan: `This deploy would serve ${what} to 20% of the callers beside version 1, and to every caller after 10 minutes, unless more than 5% of its calls fail (from its call 50 on).`,
      },
    ]);
    expect(rehearsed.body['canary']).toBeUndefined();
  }
  expect(await state()).toBeNull();
  expect(await s.t.app.store.db.$count(s.t.app.store.tables.candidates)).toBe(1);
  expect((await s.send('POST', 'deploy', { dry_run: true })).body['plan']).toBe(
    'This deploy would serve the working copy to every caller, in place of version 1.',
  );
  await start();
  for (const dry_run of [true, false]) {
    for (const body of [{ canary: {} }, { canary: {}, candidate }, { candidate }]) {
      const refused = await s.send('POST', 'deploy', { ...body, dry_run });
      expect([refused.status, String(refused.body.detail)]).toEqual([409, expect.stringContaining('running already')]);
    }
  }
  const beside = await s.send('POST', 'deploy', { dry_run: true });
  expect(JSON.stringify(beside.body['warnings'])).toContain('A canary is running');
});

/** Calls back for every message on the stream of a session. */
async function listen(id: string, heard: () => void): Promise<() => void> {
  const end = new AbortController();
  const response = await fetch(s.hosts[0]?.mcp as URL, {
    headers: { accept: 'text/event-stream', ...of(id) },
    signal: end.signal,
  });
  void (async () => {
    for await (const chunk of response.body ?? []) {
      if (new TextDecoder().decode(chunk).includes('notifications/tools/list_changed')) heard();
    }
  })().catch(() => undefined);
  return () => end.abort();
}
