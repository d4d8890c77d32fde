import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
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
  const made_token = await t.request('POST', '/api/v1/agent-tokens', { body: { name: 'a', duration_minutes: 60, scopes } });
  token = String(made_token.body['token']);
});
afterAll(() => t.close());

const draft = (more: object = {}) => ({
  name: `tool_${++made}`,
  connection_id,
  description: 'Deletes notes by their number, and answers how many.',
  sql_query: 'delete from notes where id = 1',
  ...more,
});
const create = (more: object = {}) =>
  t.request('POST', '/api/v1/tools', { body: draft(more), headers: { accept: 'application/problem+json' } });
const fieldsOf = ({ body }: Answer) => ((body['errors'] ?? []) as { field: string }[]).map(({ field }) => field);
const asToken = (method: string, path: string, body: object) =>
  t.request(method, `/api/v1${path}`, { body, anonymous: true, headers: { authorization: `Bearer ${token}` } });

describe('limits and questions of a writing tool', () => {
  test('are off by default, and stored, shown and kept in the history', async () => {
    const { body } = await create();
    expect(body).toMatchObject({
      max_bytes: null,
      max_affected_rows: null,
      confirm: 'never',
      confirm_rows: null,
      two_step: false,
    });
    const path = `/api/v1/tools/${String(body['id'])}`;
    const guard = { max_bytes: 2_048, max_affected_rows: 5, confirm: 'above', confirm_rows: 2, two_step: true };
    expect((await t.request('PATCH', path, { body: guard })).body).toMatchObject(guard);
    const history = (await t.request('GET', `/api/v1/history/tool/${String(body['id'])}`)).body as { items: { id: string }[] };
    const undone = await t.request('POST', `/api/v1/history/${String(history.items[0]?.id)}/rollback`, { body: {} });
    expect(undone.status).toBe(200);
    expect((await t.request('GET', path)).body).toMatchObject({ max_affected_rows: null, confirm: 'never', two_step: false });
  });

  test('are refused where they would have no effect, or could not be kept to', async () => {
    const refused: [object, string][] = [
      [{ sql_query: 'select 1', confirm: 'always' }, 'confirm'],
      [{ sql_query: 'select 1', max_affected_rows: 1 }, 'max_affected_rows'],
      [{ sql_query: 'drop table notes', confirm: 'always' }, 'confirm'],
      [{ confirm: 'above' }, 'confirm_rows'],
      [{ confirm: 'always', confirm_rows: 3 }, 'confirm_rows'],
      [{ two_step: true }, 'two_step'],
      [{ max_affected_rows: 0 }, 'max_affected_rows'],
      [{ confirm: 'sometimes' }, 'confirm'],
      [{ max_bytes: 10 }, 'max_bytes'],
    ];
    for (const [more, field] of refused) {
      const answer = await create(more);
      expect([more, answer.status, fieldsOf(answer)]).toEqual([more, 422, [field]]);
    }
  });

  test('may be tightened by a token, and loosened by an administrator alone', async () => {
    const { body } = await create({ confirm: 'above', confirm_rows: 5, max_affected_rows: 10 });
    const path = `/tools/${String(body['id'])}`;
    const looser: [object, string][] = [
      [{ confirm: 'never', confirm_rows: null }, 'confirm'],
      [{ confirm_rows: 6 }, 'confirm_rows'],
      [{ max_affected_rows: null }, 'max_affected_rows'],
      [{ max_affected_rows: 11 }, 'max_affected_rows'],
      [{ two_step: true }, 'two_step'],
    ];
    for (const [more, field] of looser) {
      const answer = await asToken('PATCH', path, more);
      expect([more, answer.status, answer.body['detail']]).toEqual([more, 403, expect.stringContaining(field)]);
    }
    for (const tighter of [{ confirm_rows: 4 }, { max_affected_rows: 9 }, { confirm: 'always', confirm_rows: null }])
      expect([tighter, (await asToken('PATCH', path, tighter)).status]).toEqual([tighter, 200]);
    expect((await asToken('PATCH', path, { confirm: 'above', confirm_rows: 1 })).status).toBe(403);
    expect((await asToken('POST', '/tools', draft({ confirm: 'always', two_step: true }))).status).toBe(403);
    expect((await t.request('PATCH', `/api/v1${path}`, { body: { confirm: 'never' } })).status).toBe(200);
  });

  test('are not loosened by a token that deletes or renames the tool first', async () => {
    const make = async () => {
      const { body } = await create({ confirm: 'always', max_affected_rows: 3 });
      return { name: String(body['name']), path: `/tools/${String(body['id'])}` };
    };
    const refusedAs = async (name: string) => {
      const again = await asToken('POST', '/tools', draft({ name }));
      expect([again.status, again.body['detail']]).toEqual([403, expect.stringContaining('confirm')]);
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
    expect([taken.status, taken.body['detail']]).toEqual([403, expect.stringContaining('confirm')]);
    for (const { name } of [gone, moved])
      expect((await asToken('POST', '/tools', draft({ name, confirm: 'always', max_affected_rows: 2 }))).status).toBe(201);
    expect((await asToken('POST', '/tools', draft())).status).toBe(201);
  });

  test('are not loosened by a token that activates an earlier version', async () => {
    const { body } = await create();
    const path = `/api/v1/tools/${String(body['id'])}`;
    const deploy = async () => Number((await t.request('POST', '/api/v1/deploy', { body: {} })).body['snapshot_version']);
    const before = await deploy();
    await t.request('PATCH', path, { body: { confirm: 'always' } });
    const after = await deploy();
    const refused = await asToken('POST', `/snapshots/${before}/activate`, {});
    expect([refused.status, refused.body['detail']]).toEqual([403, expect.stringContaining('confirm')]);
    expect((await t.request('POST', `/api/v1/snapshots/${before}/activate`, { body: {} })).status).toBe(200);
    expect((await asToken('POST', `/snapshots/${after}/activate`, {})).status).toBe(200);
  });

  test('travel with an export, and a generated project leaves such tools out', async () => {
    const name = `tool_${made + 1}`;
    const { body } = await create({ confirm: 'always', two_step: true });
    const exported = (await t.request('GET', '/api/v1/export-import/export')).body as {
      tools: { name: string; confirm?: string; two_step?: boolean }[];
    };
    expect(exported.tools.find((tool) => tool.name === name)).toMatchObject({ confirm: 'always', two_step: true });
    await t.request('POST', '/api/v1/deploy', { body: {} });
    const { files } = (await t.request('GET', '/api/v1/server/generated')).body as { files: { path: string; content: string }[] };
    expect(files.some(({ path }) => path.endsWith(`/${name}.ts`))).toBe(false);
    expect(files.find(({ path }) => path === 'README.md')?.content).toContain('which only Sluice counts');
    await t.request('DELETE', `/api/v1/tools/${String(body['id'])}`);
  });

  test('are what lint asks for, with a fix that a token may apply', async () => {
    const { body } = await create();
    const id = String(body['id']);
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
