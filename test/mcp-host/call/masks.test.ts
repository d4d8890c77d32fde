import { beforeAll, expect, test } from 'bun:test';
import { testCaller, type TestCaller } from '../callers.ts';
import { connection, modern, resourceOf, snapshotOf, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

const { control, host } = useHost('all');
const masks = [
  { columns: ['name'], mask: 'text' as const, unless_groups: ['staff'] },
  { columns: ['score'], mask: 'remove' as const, unless_groups: ['staff'] },
];
const sql = 'select id, name, score from customers order by id limit 2';

let staff: TestCaller;
let guest: TestCaller;

const tools = [
  toolOf(connection, 'plain', sql, { masks }),
  toolOf(connection, 'kept', `${sql} -- kept`, { masks, cache_ttl_seconds: 60 }),
  toolOf(connection, 'written', sql, { masks, return_type: 'csv' }),
  toolOf(connection, 'made', sql, {
    masks,
    transform_template: '{% for row in rows %}{{ row.name }}/{{ row.score }} {% endfor %}',
    return_type: 'text',
  }),
  toolOf(connection, 'fits', "select id, printf('%.*c', 400, 'x') as score from customers order by id limit 2", {
    masks,
    max_tokens: 60,
  }),
  toolOf(connection, 'paged', "select id, printf('%.*c', 400, 'x') as score, name from customers", {
    masks,
    max_tokens: 60,
    page_by: [{ column: 'name', type: 'text', kind: 'string' as const, desc: false }],
  }),
  toolOf(connection, 'grows', 'select id from customers order by id', {
    masks: [{ columns: ['id'], mask: 'hash' as const, unless_groups: ['staff'] }],
    max_bytes: 60,
  }),
  toolOf(connection, 'one', 'select name from customers order by id', { masks, return_type: 'value' }),
];
const resources = [resourceOf(connection, 'shop://customers', sql, { name: 'customers', masks })];

beforeAll(async () => {
  [staff, guest] = await Promise.all([testCaller('staff', { groups: ['staff'] }), testCaller('guest', {})]);
  await control.deploy(snapshotOf(1, { connections: [connection], tools, resources, server: { auth_type: 'bearer' } }));
  control.send('tokens', { tokens: [staff.live, guest.live] });
  await until(async () => (await host.health()).access_tokens.as_of !== null);
});

const callAs = async (caller: TestCaller, name: string) =>
  (await modern(host.mcp, 'tools/call', { name, arguments: {} }, caller.headers)).body.result ?? {};
const textOf = async (caller: TestCaller, name: string) =>
  ((await callAs(caller, name))['content'] as { text: string }[])[0]?.text;

test('rows are masked for everybody but the named groups', async () => {
  expect((await callAs(guest, 'plain'))['structuredContent']).toMatchObject({
    rows: [
      { id: 1, name: '***' },
      { id: 2, name: '***' },
    ],
  });
  expect(JSON.stringify(await callAs(guest, 'plain'))).not.toContain('score');
  expect((await callAs(staff, 'plain'))['structuredContent']).toMatchObject({
    rows: [
      { id: 1, name: 'Ada', score: 1.5 },
      { id: 2, name: 'Grace', score: null },
    ],
  });
});

test('rows are masked before they are measured, and pages go on behind the values as they are', async () => {
  const found = async (caller: TestCaller, name: string) => {
    const { rows, ...more } = (await callAs(caller, name))['structuredContent'] as { rows: unknown[]; truncated: boolean };
    return [rows.length, more.truncated];
  };
  expect(await found(staff, 'fits')).toEqual([0, true]);
  expect(await found(guest, 'fits')).toEqual([2, false]);
  expect(await textOf(staff, 'paged')).toContain('raise max_tokens of the tool');
  expect((await callAs(guest, 'paged'))['structuredContent']).toMatchObject({
    rows: [{ id: 1, name: '***' }, { name: '***' }, { name: '***' }],
    truncated: false,
  });
  expect(await found(staff, 'grows')).toEqual([3, false]);
  expect(await found(guest, 'grows')).toEqual([1, true]);
});

test('so are texts, single values, templates and resources, in every way that a result leaves', async () => {
  expect(await textOf(guest, 'written')).toBe('id,name\r\n1,***\r\n2,***\r\n');
  expect(await textOf(guest, 'made')).toBe('***/ ***/ ');
  expect((await callAs(guest, 'one'))['structuredContent']).toEqual({ value: '***' });
  expect(await textOf(staff, 'made')).toBe('Ada/1.5 Grace/ ');
  const read = await modern(host.mcp, 'resources/read', { uri: 'shop://customers' }, guest.headers);
  expect(read.body.result?.['contents']).toMatchObject([{ text: '[{"id":1,"name":"***"},{"id":2,"name":"***"}]' }]);
});

test('what is kept of one class of callers is never given to another, also at the same instant', async () => {
  const both = await Promise.all([callAs(staff, 'kept'), callAs(guest, 'kept'), callAs(staff, 'kept'), callAs(guest, 'kept')]);
  const again = [await callAs(guest, 'kept'), await callAs(staff, 'kept')];
  const names = [...both, ...again].map((result) => (result['structuredContent'] as { rows: { name: string }[] }).rows[0]?.name);
  expect(names).toEqual(['Ada', '***', 'Ada', '***', '***', 'Ada']);
});
