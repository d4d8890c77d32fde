import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { ObjectEntries } from 'valibot';
import { PromptDraft } from '#core/contract/definitions/prompts.ts';
import { ResourceDraft } from '#core/contract/definitions/resources.ts';
import { ToolDraft } from '#core/contract/definitions/tools.ts';
import { openNames } from '#core/contract/marks.ts';
import { type Answer, testApp, type TestApp } from '#test/support/app.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';

let t: TestApp;
let connection_id = '';
let token = '';
let made = 0;
beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  connection_id = await sqliteConnection(t, 'create table notes (id integer primary key, text text)');
  const scopes = ['read', 'write', 'deploy'];
  const made_token = await t.send('agent_tokens.create', { name: 'a', duration_minutes: 60, scopes });
  token = made_token.body.token;
});
afterAll(() => t.close());

const draft = (more: object = {}) => ({
  name: `tool_${++made}`,
  connection_id,
  description: 'Deletes notes by their number, and answers how many.',
  sql_query: 'delete from notes where id = 1',
  ...more,
});
const createTool = (more: object = {}) => t.send('tools.create', draft(more));
const fieldsOf = ({ body }: Answer) => (body.errors ?? []).map(({ field }) => field);
const asToken = (method: string, path: string, body: object) =>
  t.request(method, `/api/v1${path}`, { body, anonymous: true, headers: { authorization: `Bearer ${token}` } });

describe('limits and questions of a writing tool', () => {
  test('are off by default, and stored, shown and kept in the history', async () => {
    const { body } = await createTool();
    expect(body).toMatchObject({
      max_bytes: null,
      max_affected_rows: null,
      confirm: 'never',
      confirm_rows: null,
      two_step: false,
    });
    const guard = { max_bytes: 2_048, max_affected_rows: 5, confirm: 'above', confirm_rows: 2, two_step: true };
    expect((await t.send('tools.update', { id: body.id, ...guard })).body).toMatchObject(guard);
    const history = await t.call('history.entity', { entity_type: 'tool', entity_id: body.id });
    const undone = await t.send('history.rollback', { history_id: String(history.items[0]?.id) });
    expect(undone.status).toBe(200);
    expect(await t.call('tools.get', { id: body.id })).toMatchObject({
      max_affected_rows: null,
      confirm: 'never',
      two_step: false,
    });
  });

  test('are refused where they would have no effect, or could not be kept to', async () => {
    const refused: [object, string][] = [
      [{ sql_query: 'select 1', confirm: 'always' }, 'confirm'],
      [{ sql_query: 'select 1', max_affected_rows: 1 }, 'max_affected_rows'],
      [{ sql_query: 'drop table notes', confirm: 'always' }, 'confirm'],
      [{ confirm: 'above' }, 'confirm_rows'],
      [{ confirm: 'always', confirm_rows: 3 }, 'confirm_rows'],
      [{ two_step: true }, 'two_step'],
      [{ confirm: 'above', confirm_rows: 20, max_affected_rows: 10 }, 'confirm_rows'],
      [{ confirm: 'above', confirm_rows: 10, max_affected_rows: 10 }, 'confirm_rows'],
      [{ cache_ttl_seconds: 5 }, 'cache_ttl_seconds'],
      [{ confirm: 'always', two_step: true, view: { kind: 'table' } }, 'view'],
      [{ max_affected_rows: 0 }, 'max_affected_rows'],
      [{ confirm: 'sometimes' }, 'confirm'],
      [{ max_bytes: 10 }, 'max_bytes'],
    ];
    for (const [more, field] of refused) {
      const answer = await createTool(more);
      expect([more, answer.status, fieldsOf(answer)]).toEqual([more, 422, [field]]);
    }
  });

  test('say when a tool is saved that its calls would be refused', async () => {
    const replacing = { sql_query: "replace into notes values (1, 'x')", max_affected_rows: 1 };
    const { status, body } = await createTool(replacing);
    expect([status, body['warnings']]).toEqual([201, [expect.stringMatching(/^Calls of this tool are refused .* REPLACE/)]]);
    expect((await createTool({ ...replacing, max_affected_rows: null })).body['warnings']).toEqual([]);
  });

  test('may be tightened by a token, and loosened by an administrator alone', async () => {
    const { body } = await createTool({ confirm: 'above', confirm_rows: 5, max_affected_rows: 10 });
    const path = `/tools/${body.id}`;
    const looser: [object, string][] = [
      [{ confirm: 'never', confirm_rows: null }, 'confirm'],
      [{ confirm_rows: 6 }, 'confirm_rows'],
      [{ max_affected_rows: null }, 'max_affected_rows'],
      [{ max_affected_rows: 11 }, 'max_affected_rows'],
      [{ two_step: true }, 'two_step'],
    ];
    for (const [more, field] of looser) {
      const answer = await asToken('PATCH', path, more);
      expect([more, answer.status, answer.body.detail]).toEqual([more, 403, expect.stringContaining(field)]);
    }
    for (const tighter of [{ confirm_rows: 4 }, { max_affected_rows: 9 }, { confirm: 'always', confirm_rows: null }])
      expect([tighter, (await asToken('PATCH', path, tighter)).status]).toEqual([tighter, 200]);
    expect((await asToken('PATCH', path, { confirm: 'above', confirm_rows: 1 })).status).toBe(403);
    expect((await asToken('POST', '/tools', draft({ confirm: 'always', two_step: true }))).status).toBe(403);
    expect((await t.send('tools.update', { id: body.id, confirm: 'never' })).status).toBe(200);
  });

  test('are not loosened by a token that deletes or renames the tool first', async () => {
    const make = async () => {
      const { body } = await createTool({ confirm: 'always', max_affected_rows: 3 });
      return { name: body.name, path: `/tools/${body.id}` };
    };
    const refusedAs = async (name: string) => {
      const again = await asToken('POST', '/tools', draft({ name }));
      expect([again.status, again.body.detail]).toEqual([403, expect.stringContaining('confirm')]);
      expect((await asToken('POST', '/tools', draft({ name, confirm: 'always' }))).status).toBe(403);
    };
    const gone = await make();
    expect((await asToken('DELETE', gone.path, {})).status).toBe(204);
    await refusedAs(gone.name);
    const moved = await make();
    expect((await asToken('PATCH', moved.path, { name: `${moved.name}_old` })).status).toBe(200);
    await refusedAs(moved.name);
    // Another tool that takes the name is no way round either.
    const other = await asToken('POST', '/tools', draft());
    const taken = await asToken('PATCH', `/tools/${String(other.body['id'])}`, { name: gone.name });
    expect([taken.status, taken.body.detail]).toEqual([403, expect.stringContaining('confirm')]);
    for (const { name } of [gone, moved])
      expect((await asToken('POST', '/tools', draft({ name, confirm: 'always', max_affected_rows: 2 }))).status).toBe(201);
    expect((await asToken('POST', '/tools', draft())).status).toBe(201);
  });

  test('limits are not loosened by a token that creates tools in a batch, nor fields of administrators set', async () => {
    const masked = { sql_query: 'select text from notes', masks: [{ column: 'text', mask: 'text' }] };
    const gone = draft({ confirm: 'always' });
    const body = await t.call('tools.create', gone);
    expect((await asToken('DELETE', `/tools/${body.id}`, {})).status).toBe(204);
    const refused: [object, string][] = [
      [draft({ confirm: 'always', two_step: true }), 'two_step'],
      [draft({ log_arguments: true }), 'log_arguments'],
      [draft(masked), 'masks'],
      [{ ...gone, confirm: 'never' }, 'confirm'],
    ];
    for (const atomic of [false, true]) {
      for (const [one, field] of refused) {
        const answer = await asToken('POST', '/agent-tools/create_tools_batch', { tools: [one], atomic });
        const [error] = answer.body.errors as unknown as { error: string }[];
        expect([field, answer.status, answer.body['total_created'], error?.error]).toEqual([
          field,
          200,
          0,
          `${field} can be changed only by a signed-in administrator.`,
        ]);
      }
    }
    const tools = [gone, draft(), { ...draft(), id: 'x', version: 3, created_at: 'then', connection_name: 'shop', warnings: [] }];
    const made_all = await asToken('POST', '/agent-tools/create_tools_batch', { tools });
    expect(made_all.body).toMatchObject({ total_created: 3, errors: [], created: [{}, {}, { version: 1 }] });
    const unknown = await asToken('POST', '/agent-tools/create_tools_batch', { tools: [{ ...draft(), sql: 'select 1' }] });
    expect(unknown.body).toMatchObject({ total_created: 0, errors: [{ error: expect.stringContaining('sql') }] });
  });

  test('are not loosened by a token that activates an earlier version', async () => {
    const { body } = await createTool();
    const deploy = async () => Number((await t.call('deploy.run', {})).snapshot_version);
    const before = await deploy();
    await t.call('tools.update', { id: body.id, confirm: 'always' });
    const after = await deploy();
    const refused = await asToken('POST', `/snapshots/${before}/activate`, {});
    expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining('confirm')]);
    expect((await t.send('snapshots.activate', { version: before })).status).toBe(200);
    expect((await asToken('POST', `/snapshots/${after}/activate`, {})).status).toBe(200);
  });

  test('are not loosened by a token that first takes the tool out of what is served', async () => {
    const deploy = async () => Number((await t.call('deploy.run', {})).snapshot_version);
    const ways: Record<string, (path: string) => Promise<unknown>> = {
      disabled: (path) => asToken('PATCH', path, { enabled: false }),
      deleted: (path) => asToken('DELETE', path, {}),
      renamed: (path) => asToken('PATCH', path, { name: `tool_${++made}`, enabled: false }),
      replaced: async (path) => {
        const { name } = (await t.request('GET', `/api/v1${path}`)).body;
        await t.request('PATCH', `/api/v1${path}`, { body: { confirm: 'never' } });
        await asToken('DELETE', path, {});
        await t.call('tools.create', draft({ name, confirm: 'always', enabled: false }));
      },
    };
    for (const [way, take] of Object.entries(ways)) {
      const path = `/tools/${(await createTool()).body.id}`;
      const before = await deploy();
      await t.request('PATCH', `/api/v1${path}`, { body: { confirm: 'always' } });
      await deploy();
      await take(path);
      const without = await deploy();
      expect(without).toBe(before + 2);
      const refused = await asToken('POST', `/snapshots/${before}/activate`, {});
      expect([way, refused.status, refused.body.detail]).toEqual([way, 403, expect.stringContaining('confirm')]);
      expect((await asToken('POST', `/snapshots/${without - 1}/activate`, {})).status).toBe(200);
      await deploy();
    }
  });

  test('travel with an export, and a generated project leaves such tools out', async () => {
    const name = `tool_${made + 1}`;
    const { body } = await createTool({ confirm: 'always', two_step: true });
    const exported = await t.call('transfer.export', {});
    expect(exported.tools.find((tool) => tool['name'] === name)).toMatchObject({ confirm: 'always', two_step: true });
    await t.call('deploy.run', {});
    const { files } = await t.call('server.generated', {});
    expect(files.some(({ path }) => path.endsWith(`/${name}.ts`))).toBe(false);
    expect(files.find(({ path }) => path === 'README.md')?.content).toContain('which only Sluice counts');
    await t.call('tools.delete', { id: body.id });
  });

  test('are what lint asks for, with a fix that a token may apply', async () => {
    const { body } = await createTool();
    const id = body.id;
    const { items } = (await t.request('GET', `/api/v1/lint?owner=tool:${id}`)).body as {
      items: { rule: string; fix?: { changes: object } }[];
    };
    const found = items.find(({ rule }) => rule === 'write-unconfirmed');
    expect(found?.fix?.changes).toEqual({ confirm: 'always' });
    expect((await asToken('PATCH', `/tools/${id}`, found?.fix?.changes ?? {})).status).toBe(200);
    const after = (await t.request('GET', `/api/v1/lint?owner=tool:${id}`)).body as { items: { rule: string }[] };
    expect(after.items.map(({ rule }) => rule)).not.toContain('write-unconfirmed');
  });
});

describe('masks', () => {
  const deploy = async () => Number((await t.call('deploy.run', {})).snapshot_version);
  const activate = (version: number) => asToken('POST', `/snapshots/${version}/activate`, {});
  const masks = [{ column: 'text', mask: 'text', unless_groups: ['staff'] }];
  const kinds: [string, object][] = [
    ['tools', { sql_query: 'select id, text from notes order by id limit 1' }],
    ['resources', { sql_query: 'select id, text from notes order by id limit 1', uri_template: 'notes://first' }],
  ];

  test.each(kinds)('of %s are lifted by no token that activates an earlier version', async (plural, more) => {
    const made_one = await t.request('POST', `/api/v1/${plural}`, { body: draft(more) });
    expect(made_one.status).toBe(201);
    const path = `/${plural}/${String(made_one.body['id'])}`;
    const open = await deploy();
    const mask = (changed: object[]) => t.request('PATCH', `/api/v1${path}`, { body: { masks: changed } });
    await mask([{ ...masks[0], mask: 'last4' }]);
    const other = await deploy();
    await mask([{ ...masks[0], unless_groups: ['staff', 'guests'] }]);
    const wider = await deploy();
    await mask(masks);
    const masked = await deploy();
    for (const version of [open, other, wider]) {
      const refused = await activate(version);
      expect([version, refused.status, refused.body.detail]).toEqual([version, 403, expect.stringContaining('masks')]);
    }
    // Nor after it was taken out of what is served.
    await asToken('PATCH', path, { enabled: false });
    await deploy();
    expect((await activate(open)).status).toBe(403);
    expect((await activate(masked)).status).toBe(200);
    await asToken('DELETE', path, {});
    await deploy();
    expect((await activate(open)).status).toBe(403);
    expect((await activate(masked)).status).toBe(200);
    expect((await t.send('snapshots.activate', { version: open })).status).toBe(200);
    // A mask that comes back hides more.
    expect((await activate(masked)).status).toBe(200);
    await deploy();
  });

  test('and what else only an administrator changes is compared when a version is activated', () => {
    const closed = ({ entries }: { readonly entries: ObjectEntries }) =>
      Object.keys(entries)
        .filter((name) => !openNames(entries).has(name))
        .toSorted();
    // A field that is added here is a case for `refuseActivation`.
    expect(closed(ToolDraft)).toEqual(['log_arguments', 'masks', 'two_step']);
    expect(closed(ResourceDraft)).toEqual(['masks']);
    expect(closed(PromptDraft)).toEqual([]);
  });
});
