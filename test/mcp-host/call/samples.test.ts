import { expect, test } from 'bun:test';
import { createCaller } from '#mcp-host/auth/caller.ts';
import { createSamples } from '#mcp-host/call/samples.ts';

const caller = (owner: string) => ({ caller: createCaller(owner, null) });
const tool = (name: string, mode: 'read' | 'write' | 'fixed' = 'read') => ({ name, mode });
const use = (replay_samples: number) => ({ replay_samples });
const kept = (samples: ReturnType<typeof createSamples>) =>
  samples.newest(100).map(({ tool: name, arguments: args }) => name + args);

test('keeps the last calls of reading tools, and none unless it is told to', () => {
  const samples = createSamples();
  samples.keep(tool('a'), { n: 0 }, caller('x'), 5);
  expect(kept(samples)).toEqual([]);
  samples.use(use(3));
  for (let n = 1; n <= 5; n++) samples.keep(tool('a'), { n }, caller('x'), 5);
  samples.keep(tool('b', 'write'), { n: 6 }, caller('x'), 5);
  samples.keep(tool('c'), { text: 'x'.repeat(20_000) }, caller('x'), 5);
  expect(kept(samples)).toEqual(['a{"n":5}', 'a{"n":4}', 'a{"n":3}']);
  samples.use(use(2));
  expect(kept(samples)).toEqual(['a{"n":5}', 'a{"n":4}']);
  samples.use(use(4));
  samples.keep(tool('a'), { n: 7 }, caller('x'), 5);
  samples.keep(tool('a'), { n: 8 }, caller('x'), 5);
  samples.keep(tool('a'), { n: 9 }, caller('x'), 5);
  expect(kept(samples)).toEqual(['a{"n":9}', 'a{"n":8}', 'a{"n":7}', 'a{"n":5}']);
  samples.use(use(0));
  samples.use(use(4));
  expect(samples.count()).toBe(0);
});

test('a frequently called tool leaves room for others, and callers who no longer count are forgotten', () => {
  const samples = createSamples();
  samples.use(use(10));
  for (let n = 1; n <= 6; n++) samples.keep(tool('often'), { n }, caller('x'), 5);
  samples.keep(tool('seldom'), { n: 1 }, caller('y'), 5);
  expect(samples.newest(3).map(({ tool: name }) => name)).toEqual(['seldom', 'often', 'often']);
  samples.forget(({ owner }) => owner === 'x');
  expect(kept(samples)).toEqual(['seldom{"n":1}']);
  samples.keep(tool('often'), { n: 7 }, caller('x'), 5);
  expect(samples.count()).toBe(2);
});
