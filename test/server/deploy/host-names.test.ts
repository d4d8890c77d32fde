import { afterEach, beforeEach, expect, test } from 'bun:test';
import { followNames } from '#core/hosts/host-names.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { until } from '#test/support/until.ts';

let t: TestApp;
let stop: () => void;
let told: string[][];
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
  told = [];
  t.app.hosts.connect('h1', ({ event, data }) => {
    if (event === 'names') told.push([...data.names]);
  });
  // So seldom that only a signal can bring the change.
  stop = followNames(t.app, 600_000);
  await until(() => told.length === 1);
});
afterEach(async () => {
  stop();
  await t.close();
});

const change = (body: object) => t.send('config.update', body);
const last = (...names: string[]) => until(() => JSON.stringify(told.at(-1)) === JSON.stringify(names));

test('hosts hear of the domains whenever they change, and of no other change', async () => {
  expect(told).toEqual([[]]);
  expect((await change({ ui_domain: 'ui.example.org', mcp_domain: 'mcp.example.org' })).status).toBe(200);
  await last('ui.example.org', 'mcp.example.org');
  expect((await change({ server_name: 'Other' })).status).toBe(200);
  expect((await change({ ui_domain: null })).status).toBe(200);
  await last('mcp.example.org');
  expect(told.length).toBe(3);
});

test('they hear of a change that is rolled back', async () => {
  await change({ mcp_domain: 'mcp.example.org' });
  await last('mcp.example.org');
  const entries = (await t.call('history.list', { entity_type: 'server_config' })).items;
  const undone = await t.send('history.rollback', { history_id: entries[0]?.id });
  expect(undone.status).toBe(200);
  await last();
});

test('they hear of a change that is imported', async () => {
  const body = { format: 'sluice/1', server_config: { mcp_domain: 'mcp.example.org' } };
  const imported = await t.send('transfer.import', { mode: 'overwrite', include_server_config: true, ...body });
  expect([imported.status, imported.body.errors]).toEqual([200, []]);
  await last('mcp.example.org');
});
