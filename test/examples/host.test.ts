import { beforeAll, expect, test } from 'bun:test';
import { callTool, connection, parameterOf, snapshotOf, textOf, toolOf } from '#test/mcp-host/support.ts';
import { useHost } from '#test/mcp-host/use-host.ts';

// One host for all tests of this file; useHost('each') starts one for each test.
const { control, host } = useHost('all');
const TOOL = toolOf(connection, 'find_customer', 'select name from customers where id = :id', {
  parameters: [parameterOf('id', 'integer')],
});
beforeAll(async () => {
  await control.deploy(snapshotOf(1, { connections: [connection], tools: [TOOL] }));
});

test('a tool answers with the rows of its statement', async () => {
  const { body } = await callTool(host.mcp, 'find_customer', { id: 1 });
  expect(body.result).toMatchObject({ structuredContent: { rows: [{ name: 'Ada' }] } });
});

test('a tool called without a required argument answers with an error', async () => {
  const answer = await callTool(host.mcp, 'find_customer');
  expect(answer.body.result).toMatchObject({ isError: true });
  expect(textOf(answer)).toBe('id is required.');
});
