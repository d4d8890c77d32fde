import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { hashOf } from '#snapshots/canonical.ts';
import { applyDelta, compare, deltaOf, keyOf, KINDS, type Leaf, parseTree, toTree } from '#snapshots/tree.ts';

const leaves = fc
  .uniqueArray(
    fc.record({
      kind: fc.constantFrom(...KINDS),
      name: fc.oneof(fc.stringMatching(/^[a-c]{0,2}$/), fc.string({ unit: 'binary' }), fc.constantFrom('a\nb', 'a\\nb', '\\')),
      hash: fc.constantFrom('one', 'two', 'three').map(hashOf),
    }),
    { selector: keyOf, maxLength: 20 },
  )
  .map((list): Leaf[] => list.filter(({ name }) => name.isWellFormed() && !name.includes('\r')));

test('a tree is read as it was written, whatever order its leaves came in', () => {
  fc.assert(
    fc.property(leaves, (list) => {
      if (list.length === 0) return;
      const tree = toTree(list);
      expect(parseTree(tree.text)).toEqual(tree);
      expect(toTree(list.toReversed()).checksum).toBe(tree.checksum);
    }),
  );
});

test('a delta leads from any tree to any other, and holds nothing that both have', () => {
  fc.assert(
    fc.property(leaves, leaves, (some, others) => {
      const [before, after] = [some.toSorted(compare), others.toSorted(compare)];
      const delta = deltaOf(before, after);
      expect(applyDelta(before, delta)).toEqual(after);
      const had = new Map(before.map((leaf) => [keyOf(leaf), leaf.hash]));
      for (const leaf of delta.added) expect(had.get(keyOf(leaf))).not.toBe(leaf.hash);
      expect(deltaOf(null, after)).toEqual({ added: after, removed: [] });
    }),
  );
});

test('the root follows every name, kind and hash', () => {
  const [one, two] = [hashOf('1'), hashOf('2')];
  const roots = [
    [{ kind: 'tool', name: 'a', hash: one }],
    [{ kind: 'tool', name: 'b', hash: one }],
    [{ kind: 'prompt', name: 'a', hash: one }],
    [{ kind: 'tool', name: 'a', hash: two }],
    [
      { kind: 'tool', name: 'a', hash: one },
      { kind: 'tool', name: 'b', hash: one },
    ],
  ].map((list) => toTree(list as Leaf[]).checksum);
  expect(new Set(roots).size).toBe(roots.length);
});

test('an entity of a thousand costs its name and less than fifty bytes', () => {
  const many = Array.from({ length: 1_000 }, (_, n): Leaf => ({ kind: 'tool', name: `tool_${n}`, hash: hashOf(String(n)) }));
  const names = many.reduce((length, { name }) => length + name.length, 0);
  expect((toTree(many).text.length - names) / many.length).toBeLessThan(50);
});

test('what is no tree is refused', () => {
  for (const text of ['', '{}', 'sluice-snapshot/2\n', 'sluice-snapshot/2\nx', 'sluice-snapshot/2\ntshort\n']) {
    expect(() => parseTree(text)).toThrow('format');
  }
});
