import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { connectClient } from '#test/support/mcp-clients.ts';
import { programBelow, type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { until, untilWithin } from '#test/support/until.ts';

let programs: Programs;
beforeAll(async () => {
  programs = await startPrograms();
  await programs.demo();
}, 60_000);
afterAll(async () => {
  await programs.stop();
  removeFolder(programs);
});

/** The process ids of a process and everything below it. */
function family(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return [
    pid,
    ...children
      .split(' ')
      .filter((id) => id !== '')
      .flatMap((id) => family(Number(id))),
  ];
}

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z');
  } catch {
    return false;
  }
};

test('the printed curl gets rows', async () => {
  const command = /curl -s [\s\S]*?\n[\s\S]*?'\n/.exec(programs.output())?.[0] ?? '';
  const run = Bun.spawnSync(['bash', '-c', command]);
  const answer = JSON.parse(run.stdout.toString()) as { result: { structuredContent: { rows: unknown[] } } };
  expect(answer.result.structuredContent.rows).toHaveLength(3);
});

test.each(['v1', 'v2'] as const)('the official %s client lists and calls the demo tools', async (kind) => {
  const client = await connectClient(kind, programs.mcp_url);
  expect(await client.tools()).toEqual([
    'get_customer',
    'list_orders',
    'sales_by_category',
    'search_products',
    'spending_per_month',
  ]);
  const customer = await client.call('get_customer', { email: 'ada@example.com' });
  expect(customer.structuredContent).toMatchObject({ row: { name: 'Ada' } });
  expect(JSON.parse(customer.content[0]?.text ?? '')).toEqual(customer.structuredContent);
  const wrong = await client.call('list_orders', { from: 'yesterday', to: '2026-12-31' });
  expect(wrong.isError).toBe(true);
  expect(wrong.content[0]?.text).toContain('from');
  await client.close();
});

test('the tool of the spreadsheets answers, and its columns are what DuckDB says of them', async () => {
  const client = await connectClient('v2', programs.mcp_url);
  const { structuredContent } = await client.call('spending_per_month', { department: 'Support' });
  expect(structuredContent).toMatchObject({
    row_count: 6,
    rows: [{ month: '2026-01', department: 'Support', spent: expect.any(Number) as number, budget: 500 }, {}, {}, {}, {}, {}],
  });
  await client.close();
  await programs.signIn();
  expect(await programs.api('POST', '/drift/check')).toMatchObject({ items: [], unchecked: [] });
}, 60_000);

test('the host killed is back and serving within 2 s', async () => {
  process.kill(programBelow(programs.process.pid, 'mcp-host/main.ts') ?? 0, 'SIGKILL');
  const killed = performance.now();
  await untilWithin(60_000, async () => {
    const client = await connectClient('v2', programs.mcp_url);
    const served = await client.tools();
    await client.close();
    return served.length === 5;
  });
  expect(performance.now() - killed).toBeLessThan(8_000);
});

test('stopping leaves no process behind, and starting again serves the same snapshot', async () => {
  const before = family(programs.process.pid);
  const started = performance.now();
  await programs.stop();
  expect(performance.now() - started).toBeLessThan(25_000);
  expect(before.length).toBeGreaterThan(1);
  await until(() => before.every((pid) => !alive(pid)));
  programs = await startPrograms({ again: programs });
  await until(async () => (await fetch(programs.mcp_url.replace('/mcp', '/health'))).ok);
  await programs.signIn();
  expect(await programs.api('GET', '/deploy/status')).toMatchObject({
    status: 'running',
    snapshot_version: 1,
    pending_changes: 0,
  });
  const client = await connectClient('v2', programs.mcp_url);
  expect(await client.tools()).toHaveLength(5);
  await client.close();
}, 60_000);

test('the server killed takes the host that it started along', async () => {
  const before = family(programs.process.pid);
  await programs.stop('SIGKILL');
  await until(() => before.every((pid) => !alive(pid)));
  programs = await startPrograms({ again: programs });
}, 60_000);
