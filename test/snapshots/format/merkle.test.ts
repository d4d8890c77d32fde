import { expect, test } from 'bun:test';
import { hiddenHashes, leafHash, merkleRoot, rootOf } from '#snapshots/format/merkle.ts';
import { fc } from '#test/support/chance.ts';

/** Leaves and roots of the Certificate Transparency reference implementation. */
const LEAVES = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'];
const ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

test('the roots of trees of up to eight leaves are those of Certificate Transparency', () => {
  const leaves = LEAVES.map((hex) => leafHash(Buffer.from(hex, 'hex').toString('latin1')));
  expect(ROOTS.map((_, size) => merkleRoot(leaves.slice(0, size)).toString('hex'))).toEqual(ROOTS);
});

test('any part of the leaves and the hashes of the rest give the root, and nothing else does', () => {
  const trees = fc.array(fc.record({ text: fc.string(), shown: fc.boolean() }), { maxLength: 40 });
  fc.assert(
    fc.property(trees, fc.nat(), (tree, chance) => {
      const leaves = tree.map(({ text }) => leafHash(text));
      const at = tree.flatMap(({ shown }, index) => (shown ? [index] : []));
      const shown = at.map((index) => leaves[index]!);
      const hidden = hiddenHashes(leaves, (index) => tree[index]!.shown);
      const root = merkleRoot(leaves);
      expect(rootOf(leaves.length, at, shown, hidden)?.equals(root)).toBe(true);
      expect(rootOf(leaves.length, at, shown, [...hidden, root])).toBeNull();
      expect(rootOf(leaves.length, at, shown.slice(1), hidden)?.equals(root) ?? false).toBe(shown.length === 0);
      if (shown.length === 0) return;
      const other = shown.with(chance % shown.length, leafHash('another definition'));
      expect(rootOf(leaves.length, at, other, hidden)?.equals(root)).toBe(false);
      expect(rootOf(leaves.length, at.slice(1), shown.slice(1), hidden)?.equals(root) ?? false).toBe(false);
    }),
  );
});

test('a proof with indexes out of order, twice or beyond the tree is refused', () => {
  const leaves = ['a', 'b', 'c'].map(leafHash);
  const [a, b, c] = leaves as [Buffer, Buffer, Buffer];
  expect(rootOf(3, [1, 0, 2], [b, a, c], [])).toBeNull();
  expect(rootOf(3, [0, 0, 2], [a, a, c], [])).toBeNull();
  expect(rootOf(3, [0, 1, 3], [a, b, c], [])).toBeNull();
  expect(rootOf(3, [-1, 1, 2], [a, b, c], [])).toBeNull();
  expect(rootOf(2 ** 40, [0], [a], [b])).toBeNull();
});
