import type { View } from '#core/contract/definitions/view.ts';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Answer, testApp, type TestApp } from '#test/support/app.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';

let t: TestApp;
let connection_id = '';
let made = 0;
beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  connection_id = await sqliteConnection(t, 'create table sales (month text, shop text, total real)');
});
afterAll(() => t.close());

const createTool = (more: object) =>
  t.send('tools.create', {
    name: `sales_${++made}`,
    connection_id,
    description: 'Sales of each shop and month, in euros.',
    sql_query: 'select month, shop, total from sales order by month',
    ...more,
  });
const faultsOf = ({ body }: Answer) => body.errors ?? [];

describe('the view of a tool', () => {
  test('is stored, changed, kept in the history, and frozen', async () => {
    const view: View = { kind: 'bar', x: 'shop', y: ['total'], series: 'month', title: 'Sales', format: 'EUR' };
    const { status, body } = await createTool({ view });
    expect([status, body.view]).toEqual([201, view]);
    expect((await t.call('tools.update', { id: body.id, view: null })).view).toBeNull();
    const history = await t.call('history.entity', { entity_type: 'tool', entity_id: body.id });
    await t.call('history.rollback', { history_id: String(history.items[0]?.id) });
    expect((await t.call('tools.get', { id: body.id })).view).toEqual(view);
    const diff = await t.call('deploy.diff', {});
    expect(JSON.stringify(diff)).toContain('"EUR"');
    const exported = await t.call('transfer.export', {});
    expect(exported.tools).toMatchObject([{ view }]);
    const again = await t.send('transfer.import', { mode: 'overwrite', ...exported });
    expect(again.body).toMatchObject({ errors: [], skipped: { tools: 1 } });
    const [exported_tool] = exported.tools as { view: object }[];
    const changed = { ...exported, tools: [{ ...exported_tool, view: { kind: 'map' } }] };
    const refused = await t.send('transfer.import', { mode: 'overwrite', ...changed });
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([422, expect.stringContaining('view.kind')]);
  });

  test('is null by default, and takes every kind', async () => {
    expect((await createTool({})).body.view).toBeNull();
    for (const kind of ['table', 'record', 'value', 'bar', 'line', 'area', 'pie', 'none']) {
      expect([kind, (await createTool({ view: { kind } })).status]).toEqual([kind, 201]);
    }
  });

  const REFUSED: readonly (readonly [string, object, string, string])[] = [
    [
      'a column that is not returned',
      { view: { kind: 'bar', x: 'city' } },
      'view.x',
      'view.x names the column city, which the statement does not return. It returns month, shop, total.',
    ],
    ['another of them', { view: { kind: 'line', y: ['total', 'sum'] } }, 'view.y', 'view.y names the column sum'],
    ['and the last', { view: { kind: 'area', series: 'country' } }, 'view.series', 'view.series names the column country'],
    [
      'an axis of a table',
      { view: { kind: 'table', x: 'shop' } },
      'view.x',
      'view.x has no effect with the kind table. Leave it out.',
    ],
    ['lines of a pie', { view: { kind: 'pie', series: 'shop' } }, 'view.series', 'view.series has no effect'],
    [
      'two columns of a pie',
      { view: { kind: 'pie', y: ['total', 'month'] } },
      'view.y',
      'view.y takes one column with the kind pie.',
    ],
    [
      'a format without its columns',
      { view: { kind: 'table', format: 'percent' } },
      'view.format',
      'view.format of a table needs view.y',
    ],
    ['columns without their format', { view: { kind: 'table', y: ['total'] } }, 'view.y', 'Add format, or leave y out.'],
    [
      'a chart of one row',
      { view: { kind: 'bar' }, return_type: 'row' },
      'view.kind',
      'A bar chart needs return_type rows; this tool returns row.',
    ],
    [
      'a column of one value',
      { view: { kind: 'value', y: ['total'] }, return_type: 'value' },
      'view.y',
      'view.y has no effect with return_type value',
    ],
    ['a view of text', { view: { kind: 'table' }, return_type: 'csv' }, 'view', 'view draws structured results.'],
    ['a column twice', { view: { kind: 'bar', y: ['total', 'total'] } }, 'view.y', 'view.y names the column total twice.'],
    [
      'numbers by themselves',
      { view: { kind: 'line', x: 'total', y: ['total'] } },
      'view.y',
      'view.y names the column total, which view.x names too.',
    ],
    [
      'bars by their own axis',
      { view: { kind: 'bar', x: 'shop', series: 'shop' } },
      'view.series',
      'view.series names the column shop, which view.x names too.',
    ],
    [
      'a chart of text',
      { view: { kind: 'bar', x: 'month', y: ['shop'] } },
      'view.y',
      'view.y names the column shop of type TEXT; a chart draws numbers.',
    ],
    [
      'a number format of text',
      { view: { kind: 'table', y: ['total', 'shop'], format: 'EUR' } },
      'view.y',
      'view.y names the column shop of type TEXT; view.format is for numbers.',
    ],
    ['a title of nothing', { view: { kind: 'none', title: 'Sales' } }, 'view.title', 'view.title has no effect'],
  ];
  for (const [name, draft, field, message] of REFUSED) {
    test(`refuses what would have no effect: ${name}`, async () => {
      const answer = await createTool(draft);
      expect(answer.status).toBe(422);
      expect(faultsOf(answer)).toMatchObject([{ field, message: expect.stringContaining(message) }]);
    });
  }

  test('refuses unknown kinds, formats and fields', async () => {
    for (const view of [
      { kind: 'map' },
      { kind: 'bar', format: 'euro' },
      { kind: 'bar', colour: 'red' },
      { kind: 'bar', y: [] },
    ]) {
      expect((await createTool({ view })).status).toBe(422);
    }
  });
});
