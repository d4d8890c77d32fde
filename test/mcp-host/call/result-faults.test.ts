import { beforeAll, expect, test } from 'bun:test';
import { callTool, connection, promptOf, rpc, snapshotOf, textOf, toolOf } from '#test/mcp-host/support.ts';
import { useHost } from '#test/mcp-host/use-host.ts';
import { until } from '#test/support/until.ts';

const { control, host } = useHost('all');
const NO_SENSE = '{{ 1 // 0 }}';
const ONE = 'select 1 as one';
const TOOLS = [
  toolOf(connection, 'template', ONE, { transform_template: NO_SENSE }),
  toolOf(connection, 'cached', ONE, { transform_template: NO_SENSE, cache_ttl_seconds: 60 }),
  toolOf(connection, 'picture', ONE, { return_type: 'image' }),
];
beforeAll(async () => {
  await control.deploy(snapshotOf(1, { connections: [connection], tools: TOOLS, prompts: [promptOf('greet', NO_SENSE)] }));
});
const logged = (name: string) => until(() => control.usage.flatMap(({ items }) => items).findLast((item) => item.name === name));

test.each(TOOLS.map(({ name }) => name))(
  'a reading tool whose result cannot be shown failed, and was not called with wrong arguments (%s)',
  async (name) => {
    expect(textOf(await callTool(host.mcp, name)).length).toBeGreaterThan(10);
    expect((await logged(name)).error).toBe('bad_request');
  },
);

test('a prompt whose template fails is at fault itself', async () => {
  await rpc(host.mcp, { id: 1, method: 'prompts/get', params: { name: 'greet', arguments: {} } });
  expect((await logged('greet')).error).toBe('bad_request');
});
