import { expect, test } from 'bun:test';
import { fc } from '#test/support/chance.ts';
import { hashOf } from '#snapshots/format/canonical.ts';
import { diff } from '#snapshots/diff/diff.ts';
import { applyDelta, compare, deltaOf, keyOf, type Leaf, parseTree, toBlob, toTree } from '#snapshots/format/tree.ts';
import { type LeafKind, LEAF_KINDS } from '#core/contract/entities.ts';

const leaves = fc
  .uniqueArray(
    fc.record({
      kind: fc.constantFrom(...LEAF_KINDS),
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

test('a tree is the same whatever tree its branches were taken from, and keeps those that did not change', () => {
  const leaf = (name: string, change: number): Leaf => ({ kind: 'tool', name, hash: hashOf(`${name} ${change}`) });
  const numbers = fc.uniqueArray(fc.nat(2_000), { maxLength: 400 });
  fc.assert(
    fc.property(numbers, numbers, fc.nat(2), (some, others, change) => {
      const known = new Map(some.map((n) => [n, leaf(`tool_${n}`, 0)]));
      const before = toTree([...known.values()]);
      const after = others.map((n) => (n % 3 < change ? leaf(`tool_${n}`, change) : (known.get(n) ?? leaf(`tool_${n}`, 0))));
      const [fresh, led] = [toTree(after), toTree(after.toSorted(compare), before)];
      expect([led.text, led.checksum, led.branches.map(({ hash }) => hash)]).toEqual([
        fresh.text,
        fresh.checksum,
        fresh.branches.map(({ hash }) => hash),
      ]);
    }),
    { numRuns: 50 },
  );
  const many = Array.from({ length: 10_000 }, (_, n) => leaf(`tool_${n}`, 0)).toSorted(compare);
  const before = toTree(many);
  const after = toTree(many.with(5_000, leaf(many[5_000]!.name, 1)), before);
  const made = after.branches.filter((branch) => !before.branches.includes(branch));
  expect(made.length).toBeLessThanOrEqual(2);
  expect(before.branches.length).toBeGreaterThan(100);
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

test('a secret that is sealed anew changes nothing; a value of a tool that looks like one does', () => {
  const sealed = (end: string) => ({ $sealed: `v1.00000000.fingerprint.${end}` });
  const hashes = (kind: LeafKind) => ['a', 'b'].map((end) => toBlob(kind, 'x', { default: sealed(end) }).hash);
  expect(new Set(hashes('connection')).size).toBe(1);
  expect(new Set(hashes('tool')).size).toBe(2);
  const tool = (end: string) => ({ name: 'x', parameters: [{ name: 'p', default: sealed(end) }] });
  const content = (end: string) => ({ server: {}, connections: [], tools: [tool(end)], resources: [], prompts: [] });
  const changes = diff(content('a') as never, content('b') as never);
  expect(changes.map(({ name, fields }) => [name, fields])).toEqual([['x', ['parameters']]]);
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
