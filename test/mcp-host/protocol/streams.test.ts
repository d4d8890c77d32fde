import { expect, test } from 'bun:test';
import { FULL_RIGHTS } from '#mcp-host/auth/rights.ts';
import { WHOLE } from '#core/edge/mcp-endpoint.ts';
import { createStreams } from '#mcp-host/protocol/streams.ts';
import type { ListKind } from '#mcp-host/swap/registry.ts';

const peer = { listener: 1, hold: () => undefined, release: () => undefined };
const viewer = { rights: FULL_RIGHTS, endpoint: WHOLE };
const by = { caller: { owner: 'someone' }, peer, viewer, holder: 'someone' };
const changed =
  (...kinds: ListKind[]) =>
  () => ({ kinds, is_updated: () => false });
const CHANGES = { notifications: { toolsListChanged: true, resourcesListChanged: true, promptsListChanged: true } };

test('a reader that reads nothing is let go with its farewell, and the news still reaches everybody else', async () => {
  const streams = createStreams();
  const slow = streams.listen(1, CHANGES, '{}', by);
  const carried = streams.carry('event: endpoint\ndata: /messages\n\n', by, () => () => undefined);
  for (let n = 0; n < 100; n++) streams.announce(changed('tools', 'resources', 'prompts'), []);
  expect(streams.count()).toBe(1);
  const quick = streams.listen(2, CHANGES, '{}', by);
  streams.announce(changed('tools', 'resources', 'prompts'), []);
  streams.keepAlive();
  streams.end();
  expect(streams.count()).toBe(0);
  const unread = await slow.text();
  expect(unread.match(/list_changed/g)?.length).toBeGreaterThan(200);
  expect(unread.trimEnd().split('\n\n').at(-1)).toContain('"resultType":"complete"');
  const read = await quick.text();
  expect(read.match(/list_changed/g)).toHaveLength(3);
  expect(read.trimEnd().split('\n\n').at(-1)).toContain('"resultType":"complete"');
  expect(await carried.text()).not.toContain('list_changed');
});

test('a stream whose reader left takes no more news', async () => {
  const streams = createStreams();
  const left = streams.listen(1, CHANGES, '{}', by);
  await left.body?.cancel();
  streams.announce(changed('tools'), []);
  streams.keepAlive();
  streams.end();
  expect(streams.count()).toBe(0);
});

test('a caller that opens too many streams ends its own, and makes room for those that have fewer', async () => {
  const streams = createStreams(6, 4);
  const open = (holder: string) => streams.listen(holder, CHANGES, '{}', { ...by, holder });
  const first = open('greedy');
  const second = open('greedy');
  for (let n = 0; n < 3; n++) open('greedy');
  expect(streams.count()).toBe(4);
  expect(await first.text()).toContain('"resultType":"complete"');
  const other = open('other');
  open('third');
  expect(streams.count()).toBe(6);
  open('fourth');
  expect(streams.count()).toBe(6);
  expect(await second.text()).toContain('"resultType":"complete"');
  streams.announce(changed('tools'), []);
  streams.end();
  expect((await other.text()).match(/list_changed/g)).toHaveLength(1);
});
