import { beforeAll, expect, test } from 'bun:test';
import { canonical } from '#snapshots/format/canonical.ts';
import type { Snapshot } from '#snapshots/format/format.ts';
import { callTool, connectionOf, modern, parameterOf, rpc, snapshotOf, TOKEN, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { paced } from '#test/support/paced.ts';

const { control, host } = useHost('all');
const shop = connectionOf({});
const listOf = (name: string, pattern: string) =>
  toolOf(shop, name, 'select count(*) as n from json_each(:texts)', {
    parameters: [parameterOf('texts', 'array', { items: 'string', pattern }), parameterOf('note', 'string', { required: false })],
  });

const tools = [
  listOf('codes', '[a-z]{1,200}!'),
  listOf('addresses', '^[^@\\s]+@[^@\\s]+\\.[a-z]{2,}$'),
  toolOf(shop, 'quick', 'select 1 as one'),
  toolOf(shop, 'kept', 'select 1 as one', {
    return_type: 'value',
    transform_template: 'one is {{ rows[0].one }}',
    cache_ttl_seconds: 60,
  }),
  toolOf(shop, 'many', 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 600) select i from n', {
    cache_ttl_seconds: 60,
  }),
  toolOf(shop, 'fails', "select json_extract('{', '$.a') as a"),
  toolOf(shop, 'wipe', 'create table if not exists wiped (n integer)', { mode: 'write' }),
  toolOf(shop, 'ordered', 'select :b as b, :z as z, :a as a', {
    parameters: [parameterOf('b', 'string', { required: false }), parameterOf('z', 'date'), parameterOf('a', 'string')],
  }),
];

beforeAll(async () => {
  // As the server sends it.
  const ack = await control.deploy(JSON.parse(canonical(snapshotOf(1, { connections: [shop], tools }))) as Snapshot);
  expect(ack.error).toBeNull();
});

/** Calls a tool that is quick by itself until the work is done. @returns the longest time that one of those calls took. */
async function longestWaitBeside(work: Promise<unknown>): Promise<number> {
  const state = { done: false };
  void work.finally(() => {
    state.done = true;
  });
  let longest = 0;
  while (!state.done) {
    const started = performance.now();
    await callTool(host.mcp, 'quick', {});
    longest = Math.max(longest, performance.now() - started);
    await Bun.sleep(1);
  }
  return longest;
}

test.each([
  ['codes', 400, `${'a'.repeat(9_990)}!`, 'has more text than one call can check'],
  ['codes', 90, `${'a'.repeat(9_990)}!`, 'takes too long to check against its pattern'],
  ['addresses', 400, `${'a'.repeat(9_980)}@b.example`, 'has more text than one call can check'],
])('%s takes a list of %d long texts and holds up nobody', async (name, length, text, said) => {
  const texts = Array.from({ length }, () => text);
  const started = performance.now();
  const refused = callTool(host.mcp, name, { texts });
  expect(await longestWaitBeside(refused)).toBeLessThan(1_000);
  expect(performance.now() - started).toBeLessThan(paced(5_000));
  const { result } = (await refused).body;
  expect(result).toMatchObject({ isError: true });
  expect(JSON.stringify(result)).toContain(said);
});

test('as many short texts as a list may hold are checked, and the position of a wrong one is told', async () => {
  const texts = Array.from({ length: 10_000 }, (_, n) => `somebody.${n}@mail.example.com`);
  const right = callTool(host.mcp, 'addresses', { texts });
  expect(await longestWaitBeside(right)).toBeLessThan(1_000);
  expect((await right).body.result).toMatchObject({ structuredContent: { rows: [{ n: 10_000 }] } });
  const wrong = await callTool(host.mcp, 'addresses', { texts: texts.with(9_998, 'nobody') });
  expect(wrong.body.result).toMatchObject({
    isError: true,
    content: [{ text: 'texts has a wrong element at position 9999: it does not match the required pattern.' }],
  });
});

test('a tool is listed with its parameters in their order, the required ones first', async () => {
  const { result } = (await modern(host.mcp, 'tools/list')).body;
  const listed = result?.['tools'] as { name: string; inputSchema: { properties: object } }[];
  const ordered = listed.find(({ name }) => name === 'ordered');
  expect(Object.keys(ordered?.inputSchema.properties ?? {})).toEqual(['z', 'a', 'b']);
});

test('a reading tool answers without what it does not declare, and names it', async () => {
  const added = { wait_for_previous: true };
  const plain = (await callTool(host.mcp, 'quick', added)).body.result;
  expect(plain).toMatchObject({ content: [expect.anything()], structuredContent: { rows: [{ one: 1 }] } });
  expect(plain?.['_meta']).not.toHaveProperty('sluice/ignored');
  const params = { name: 'addresses', arguments: { texts: ['a@b.de'], ...added, more: 1, 'a\n"b': 2 } };
  const said = { type: 'text', text: 'Ignored arguments that the tool does not have: more, "a\\n\\"b".' };
  for (const answer of [
    await rpc(host.mcp, { id: 1, method: 'tools/call', params }),
    await callTool(host.mcp, params.name, params.arguments),
  ]) {
    expect(answer.body.result).toMatchObject({
      content: [{ text: '{"rows":[{"n":1}],"row_count":1,"truncated":false}' }, said],
      structuredContent: { rows: [{ n: 1 }] },
      _meta: { 'sluice/ignored': ['more', 'a\n"b'] },
    });
  }
  // The result that calls share does not have it, whatever the form of the result.
  for (const [tool, text] of [
    ['kept', 'one is 1'],
    ['many', expect.stringMatching(/^\{"rows":\[/)],
  ] as const) {
    for (const args of [{}, { status: 'x' }, {}]) {
      const { content } = (await callTool(host.mcp, tool, args)).body.result as { content: object[] };
      const ignored = 'status' in args ? [{ text: 'Ignored arguments that the tool does not have: status.' }] : [];
      expect(content).toMatchObject([{ text }, ...ignored]);
      expect(content).toHaveLength(1 + ignored.length);
    }
  }
  expect((await callTool(host.mcp, 'fails', { status: 'x' })).body.result).toMatchObject({
    isError: true,
    content: [expect.anything(), { text: 'Ignored arguments that the tool does not have: status.' }],
    _meta: { 'sluice/ignored': ['status'] },
  });
  expect((await callTool(host.mcp, 'addresses', { texts: [], notes: 'x' })).body.result).toMatchObject({
    isError: true,
    content: [{ text: 'There is no argument notes. Did you mean note?' }],
  });
  const metrics = await fetch(new URL('/metrics', host.mcp), { headers: { 'x-service-token': TOKEN } });
  expect(await metrics.text()).toContain('sluice_undeclared_arguments_total 8\n');
});

test('a tool that writes refuses it, and with undeclared_arguments set to refuse every tool does', async () => {
  const refused = { isError: true, content: [{ text: 'There is no argument dry_run.' }] };
  expect((await callTool(host.mcp, 'wipe', { dry_run: true })).body.result).toMatchObject(refused);
  expect((await callTool(host.mcp, 'wipe', { wait_for_previous: true })).body.result).not.toHaveProperty('isError');
  expect((await callTool(host.mcp, 'quick', { dry_run: true })).body.result).not.toHaveProperty('isError');
  const ack = await control.deploy(snapshotOf(2, { connections: [shop], tools, server: { undeclared_arguments: 'refuse' } }));
  expect(ack.error).toBeNull();
  expect((await callTool(host.mcp, 'quick', { dry_run: true })).body.result).toMatchObject(refused);
  expect((await callTool(host.mcp, 'quick', { wait_for_previous: true })).body.result).not.toHaveProperty('isError');
});
