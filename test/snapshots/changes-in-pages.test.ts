import { expect, test } from 'bun:test';
import { changesBetween, changesInPages } from '#core/deploy/pending.ts';
import { diff } from '#snapshots/diff/diff.ts';
import { type Blob, type Leaf, toBlobs, toContent, toTree } from '#snapshots/format/tree.ts';

/** Every third of so many is there before alone, every third after alone, the others in both; of these every second changes. */
const MANY = 2_000;

function versionOf(after: boolean): Blob[] {
  const side = after ? 1 : 2;
  const numbers = Array.from({ length: MANY }, (_, n) => n).filter((n) => n % 3 === 0 || n % 3 === side);
  const named = (kind: string) =>
    numbers.map((n) => ({
      id: `${kind}${n}`,
      name: `${kind}_${n}`,
      connection_id: 'c',
      mode: n % 2 === 0 ? 'write' : 'read',
      statement: { nodes: [`delete from t${n}${after && n % 2 === 0 ? ' where a' : ''}`] },
    }));
  const server = { server_name: after ? 'Shop' : 'Store' };
  const [tools, resources, prompts] = ['tool', 'resource', 'prompt'].map(named);
  return toBlobs({ server, connections: [], tools, resources, prompts, toolsets: [] } as never);
}

test('changes that are worked out in pages are those of the whole, in the same order', async () => {
  const [old, now] = [versionOf(false), versionOf(true)];
  const texts = new Map([...old, ...now].map(({ hash, text }) => [hash, text]));
  const leavesOf = (blobs: readonly Blob[]) => blobs.map(({ kind, name, hash }): Leaf => ({ kind, name, hash }));
  const [before, after] = [toTree(leavesOf(old)), toTree(leavesOf(now))];
  const read = async () => texts;
  const contentOf = (leaves: readonly Leaf[]) => toContent(leaves, (hash) => texts.get(hash));

  const whole = diff(contentOf(before.leaves), contentOf(after.leaves));
  expect(new Set(whole.map(({ change }) => change))).toEqual(new Set(['added', 'changed', 'removed']));
  expect(whole.length).toBeGreaterThan(MANY);
  expect(await changesBetween(before, after, read)).toEqual(whole);
  expect(await changesBetween(null, after, read)).toEqual(diff(null, contentOf(after.leaves)));
  expect(await changesBetween(after, after, read)).toEqual([]);

  let most = 0;
  for await (const page of changesInPages(before, after, read)) most = Math.max(most, page.length);
  expect(most).toBeLessThanOrEqual(500);
});
