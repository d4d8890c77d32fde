import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { LOGGED_ARGUMENTS, type LoggedArguments, LONGEST_SEALED } from '#core/contract/observe/logged-arguments.ts';
import { createSealing } from '#core/lib/sealing.ts';
import { pruneUsage } from '#core/control-plane/control-plane.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { namedStores } from '#test/support/metadata.ts';
import { type Member, peopleOf } from '#test/support/people.ts';
import { toBatch } from '#test/support/usage.ts';

const VALUE = 'sent-by-a-caller-71c4';
const SENT: LoggedArguments = { called: 'orders', arguments: { customer: VALUE, n: 3 }, masked: [], left_out: [] };
const HOUR_MS = 3_600_000;

describe.each([...namedStores])('logged arguments in %s', (metadata) => {
  let t: TestApp;
  let seq = 0;
  let owner: Member;
  beforeEach(async () => {
    seq = 0;
    t = await testApp({}, undefined, { metadata });
    owner = await peopleOf(t).owner();
  });
  afterEach(() => t.close());

  const seal = (logged: LoggedArguments, keys = t.app.env.SVC_ENCRYPTION_KEY) =>
    createSealing<LoggedArguments>(keys, LOGGED_ARGUMENTS, LONGEST_SEALED).seal(logged);
  /** Calls of one tool, as a host reports them. @returns the status. */
  const report = async (...sealed: (string | undefined)[]) => {
    const timestamp = t.app.clock().toISOString();
    const call = {
      kind: 'tool',
      name: 'orders',
      client: 'claude/1',
      timestamp,
      duration_ms: 1,
      wait_ms: 0,
      rows: 1,
      bytes: 9,
    } as const;
    const calls = sealed.map((text) => ({ ...call, ...(text === undefined ? {} : { arguments: text }) }));
    const headers = { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN };
    const body = { boot_id: 'boot', seq: ++seq, ...toBatch(calls) };
    return (await t.request('POST', '/api/internal/hosts/h1/usage', { body, headers, anonymous: true })).status;
  };
  const detail = async (who: Member = owner, id = '1') => (await who.send('logs.get', { call_id: id })).body;
  const stored = async () => {
    const { request_logs } = t.app.store.tables;
    return (await t.app.store.db.select({ sealed: request_logs.arguments }).from(request_logs).orderBy(request_logs.id)).map(
      ({ sealed }) => sealed,
    );
  };

  test('are stored encrypted and opened for editors and higher; calls without them say so', async () => {
    expect(await report(seal(SENT), undefined)).toBe(204);
    expect(JSON.stringify(await stored())).not.toContain(VALUE);
    expect(await detail()).toMatchObject({
      arguments_state: 'logged',
      arguments: { customer: VALUE, n: 3 },
      arguments_masked: [],
      arguments_left_out: [],
    });
    expect(await detail(owner, '2')).toMatchObject({ arguments_state: 'not_logged', arguments: null });
    const list = await owner.call('logs.list', {});
    expect(Object.keys((list.items as object[])[0] ?? {})).not.toContain('arguments');
  });

  test('logged arguments are read by editors, calls and sessions by viewers, refusals by administrators', async () => {
    await report(seal(SENT));
    const people = peopleOf(t);
    const statuses = async (who: Member) =>
      Promise.all(
        ['logs', 'logs/1', 'sessions/mcp', 'sessions/mcp/1', 'logs/refusals'].map(
          async (path) => (await who.ask('GET', path)).status,
        ),
      );
    const admin = await people.join(owner, { username: 'alan', role: 'admin' });
    const editor = await people.join(owner, { username: 'edith', role: 'editor' });
    const viewer = await people.join(owner, { username: 'vera', role: 'viewer' });
    const caller = await people.join(owner, { username: 'carl', role: 'caller' });
    for (const who of [owner, admin]) expect(await statuses(who)).toEqual([200, 200, 200, 200, 200]);
    for (const who of [editor, viewer]) expect(await statuses(who)).toEqual([200, 200, 200, 200, 403]);
    expect(await statuses(caller)).toEqual([403, 403, 403, 403, 403]);
    for (const who of [owner, admin, editor]) expect((await detail(who)).arguments).toEqual({ customer: VALUE, n: 3 });
    const seen = await detail(viewer);
    expect(seen).toMatchObject({ name: 'orders', arguments_state: 'hidden', arguments: null });
    expect(JSON.stringify(seen)).not.toContain(VALUE);
  });

  test('are never opened for a token, whoever made it, which reads the call but not the list', async () => {
    await report(seal(SENT));
    const made = await owner.call('agent_tokens.create', {
      name: 'agent',
      duration_minutes: 60,
      scopes: ['read', 'write', 'deploy'],
    });
    const headers = { authorization: `Bearer ${made.token}` };
    expect((await t.send('logs.get', { call_id: 1 }, { anonymous: true, headers })).body).toMatchObject({
      name: 'orders',
      arguments_state: 'hidden',
      arguments: null,
    });
    expect((await t.send('mcp_sessions.list', {}, { anonymous: true, headers })).status).toBe(200);
    expect([
      (await t.send('logs.list', {}, { anonymous: true, headers })).status,
      (await t.send('logs.refusals', {}, { anonymous: true, headers })).status,
    ]).toEqual([403, 403]);
    expect((await t.send('logs.get', { call_id: 1 }, { anonymous: true })).status).toBe(401);
  });

  test('logged arguments are unreadable after log_arguments_hours and pruned next; the call stays', async () => {
    await owner.call('config.update', { log_arguments_hours: 2 });
    await report(seal(SENT));
    t.advance(HOUR_MS);
    await report(seal(SENT));
    t.advance(HOUR_MS + 1);
    expect(await detail()).toMatchObject({ arguments_state: 'removed', arguments: null });
    expect(await detail(owner, '2')).toMatchObject({ arguments_state: 'logged' });
    expect(await stored()).toEqual([expect.stringMatching(/.{40}/), expect.stringMatching(/.{40}/)]);
    await pruneUsage(t.app);
    expect(await stored()).toEqual(['', expect.stringMatching(/.{40}/)]);
    expect(await detail()).toMatchObject({ name: 'orders', arguments_state: 'removed' });
  });

  test('say so when their key is gone, or when they were moved from another tool', async () => {
    await report(seal(SENT, ['another key of thirty-two letters']), seal({ ...SENT, called: 'others' }));
    for (const id of ['1', '2'])
      expect(await detail(owner, id)).toMatchObject({ arguments_state: 'key_missing', arguments: null });
  });

  test('that are no ciphertext, or longer than any, are refused with their batch', async () => {
    expect(await report('{"customer":1}')).toBe(422);
    expect(await report('a'.repeat(LONGEST_SEALED + 1))).toBe(422);
    expect(await stored()).toEqual([]);
    expect((await owner.send('config.update', { log_arguments_hours: 0 })).status).toBe(422);
    expect((await owner.send('config.update', { log_arguments_hours: 721 })).status).toBe(422);
  });
});
