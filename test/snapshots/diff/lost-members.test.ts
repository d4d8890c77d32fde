import { expect, test } from 'bun:test';
import { lostMembers } from '#snapshots/diff/lost-members.ts';
import { type Blob, differing, toBlobs } from '#snapshots/format/tree.ts';
import type { FrozenTool, FrozenToolset } from '#snapshots/format/format.ts';
import { connectionOf, snapshotOf, toolOf } from '#test/mcp-host/support.ts';
import { selectionOf, toolsetOf } from '#test/mcp-host/toolsets/toolsets-support.ts';

const shop = connectionOf({});
const sales = toolsetOf('sales', { tags: ['sales'] });
const blobsOf = (tools: readonly FrozenTool[], toolsets: readonly FrozenToolset[]): Blob[] =>
  toBlobs(snapshotOf(1, { connections: [shop], tools, toolsets }).content);

/** What is said, and the names of what was read for it. */
async function lost(before: Blob[], after: Blob[]) {
  const read: string[] = [];
  const all = new Map([...before, ...after].map(({ hash, text }) => [hash, text]));
  const { old, now } = differing(before, after);
  const said = await lostMembers(before, after, { old, now }, (leaves) => {
    read.push(...leaves.map(({ name }) => name));
    return Promise.resolve(all);
  });
  return { said: Object.fromEntries(said), read: new Set(read) };
}

test('a definition that leaves a toolset is said once, and nothing else is read for it', async () => {
  const tools = Array.from({ length: 1_000 }, (_, n) => toolOf(shop, `t${n}`, 'select 1 as n', { tags: ['sales'] }));
  const changed = tools.map((tool, n) => (n === 7 ? { ...tool, tags: ['other'] } : n === 8 ? { ...tool, max_rows: 5 } : tool));
  const { said, read } = await lost(blobsOf(tools, [sales]), blobsOf(changed, [sales]));
  expect(said).toEqual({ tt7: ['This tool is no longer in the toolset sales.'] });
  expect([...read].sort()).toEqual(['sales', 't7', 't8']);
});

test('a toolset with other rules names what it lost, not what is gone', async () => {
  const tools = Array.from({ length: 8 }, (_, n) => toolOf(shop, `t${n}`, 'select 1 as n', { tags: ['sales'] }));
  const narrow = { ...sales, exclude: selectionOf({ tool_ids: tools.slice(0, 7).map(({ id }) => id) }) };
  const { said } = await lost(blobsOf(tools, [sales]), blobsOf(tools.slice(1), [narrow]));
  expect(said).toEqual({ osales: ['The toolset sales no longer holds t1, t2, t3, t4, t5 and 1 more.'] });
  const two = { ...sales, exclude: selectionOf({ tool_ids: [tools[0]!.id, tools[1]!.id] }) };
  expect((await lost(blobsOf(tools, [sales]), blobsOf(tools, [two]))).said).toEqual({
    osales: ['The toolset sales no longer holds t0 and t1.'],
  });
  const wider = { ...sales, include: selectionOf({ tags: ['sales', 'more'] }) };
  expect((await lost(blobsOf(tools, [sales]), blobsOf(tools, [wider]))).said).toEqual({});
  expect((await lost(blobsOf(tools, []), blobsOf(tools, [sales]))).said).toEqual({});
});
