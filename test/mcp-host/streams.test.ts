import { expect, test } from 'bun:test';
import { createStreams } from '#mcp-host/streams.ts';

const by = { caller: { owner: 'someone' }, peer: { listener: 1, hold: () => undefined, release: () => undefined } };
const CHANGES = { notifications: { toolsListChanged: true, resourcesListChanged: true, promptsListChanged: true } };

test('a reader that reads nothing is let go with its farewell, and the news still reaches everybody else', async () => {
  const streams = createStreams();
  const slow = streams.listen(1, CHANGES, '{}', by);
  const carried = streams.carry('event: endpoint\ndata: /messages\n\n', by, () => () => undefined);
  for (let n = 0; n < 100; n++) streams.announce(['tools', 'resources', 'prompts'], []);
  expect(streams.count()).toBe(1);
  const quick = streams.listen(2, CHANGES, '{}', by);
  streams.announce(['tools', 'resources', 'prompts'], []);
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
  streams.announce(['tools'], []);
  streams.keepAlive();
  streams.end();
  expect(streams.count()).toBe(0);
});
