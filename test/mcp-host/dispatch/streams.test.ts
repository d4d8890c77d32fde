import { expect, test } from 'bun:test';
import { FULL_RIGHTS } from '#mcp-host/auth/rights.ts';
import { WHOLE } from '#core/edge/mcp-endpoint.ts';
import { createStreams } from '#mcp-host/dispatch/streams.ts';
import { type ListKind, LIST_KINDS } from '#mcp-host/registry/registry.ts';

const peer = { listener: 1, hold: () => undefined, release: () => undefined };
const viewer = { rights: FULL_RIGHTS, endpoint: WHOLE };
const by = { caller: { owner: 'someone' }, peer, viewer, holder: 'someone' };
const changed =
  (...kinds: ListKind[]) =>
  () => ({ kinds, is_updated: () => false });
const CHANGES = { kinds: LIST_KINDS, uris: new Set<string>(), honoured: {} };

test('a reader that reads nothing is let go with its farewell, and the news still reaches everybody else', async () => {
  const streams = createStreams();
  const slow = streams.listen(1, CHANGES, '{}', by);
  const carried = streams.carry('event: endpoint\ndata: /messages\n\n', by, () => ({
    is_busy: () => false,
    closed: () => undefined,
  }));
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

test('what a slow reader leaves unread is bounded by bytes, too, and a large message reaches a quick one', async () => {
  const streams = createStreams();
  const uris = new Set(Array.from({ length: 12 }, (_, n) => `db://${n}/${'x'.repeat(4_000)}`));
  const slow = streams.listen(1, { kinds: [], uris, honoured: {} }, '{}', by);
  const update = () => streams.announce(() => ({ kinds: [], is_updated: () => true }), []);
  for (let n = 0; n < 20; n++) update();
  expect(streams.count()).toBe(1);
  for (let n = 0; n < 10; n++) update();
  expect(streams.count()).toBe(0);
  expect((await slow.text()).length).toBeLessThan(1.1 * 1024 * 1024);
  const sends: ((message: string) => void)[] = [];
  const closed: number[] = [];
  const carry = (n: number) =>
    streams.carry('first\n\n', by, ({ send }) => {
      sends[n] = send;
      return { is_busy: () => false, closed: () => void closed.push(n) };
    });
  const [quick, stuck] = [carry(0), carry(1)];
  const large = 'x'.repeat(9 * 1024 * 1024);
  sends[0]?.(large);
  streams.keepAlive();
  sends[1]?.(large);
  sends[1]?.(large);
  streams.keepAlive();
  expect(closed).toEqual([]);
  sends[1]?.(large);
  expect(closed).toEqual([1]);
  streams.end();
  expect((await quick.text()).length).toBeGreaterThan(large.length);
  expect(stuck.text()).rejects.toThrow('does not keep up');
});

test('what all readers of results leave unread is bounded, and the one that left most goes', async () => {
  const streams = createStreams();
  const sends: ((message: string) => void)[] = [];
  const closed: number[] = [];
  const carry = (n: number) =>
    streams.carry('first\n\n', by, ({ send }) => {
      sends[n] = send;
      return { is_busy: () => false, closed: () => void closed.push(n) };
    });
  const held = Array.from({ length: 30 }, (_, n) => carry(n));
  const large = 'x'.repeat(9 * 1024 * 1024);
  sends[3]?.(`${large}${large}`);
  for (let n = 4; n < 30; n++) sends[n]?.(large);
  expect(closed).toEqual([]);
  sends[0]?.(large);
  expect(closed).toEqual([3]);
  streams.end();
  expect((await held[0]?.text())?.length).toBeGreaterThan(large.length);
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
