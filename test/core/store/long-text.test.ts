import { describe, expect, test } from 'bun:test';
import { eq, sql } from 'drizzle-orm';
import { storeOf } from '#test/support/stores.ts';

describe.each(['sqlite', 'postgresql'] as const)('a long text in %s', (dialect) => {
  const made = storeOf(dialect);

  let version = 0;
  const write = async (content: string) => {
    version += 1;
    const head = { version, checksum: '', note: null, actor: { type: 'system', id: null, name: 'system' }, created_at: '' };
    const counts = { connections: 0, tools: 0, resources: 0, prompts: 0 };
    await made.store.write((tx) => tx.insert(made.store.tables.snapshots).values({ ...head, counts, content }));
  };
  const read = async () => {
    const { snapshots } = made.store.tables;
    const [row] = await made.store.db
      .select({ content: snapshots.content, stored: sql<string>`${snapshots.content}` })
      .from(snapshots)
      .where(eq(snapshots.version, version));
    return row;
  };

  test.skipIf(!made.can).each([
    ['nothing', ''],
    ['a short one', '{"a":"é"}'],
    ['one that looks compressed', 'zstd:{}'],
    ['999 characters', 'x'.repeat(999)],
    ['1 000 characters', 'x'.repeat(1_000)],
    ['a megabyte', JSON.stringify(Array.from({ length: 20_000 }, (_, n) => ({ name: `tool ${n} 😀`, n })))],
  ])('is read as it was written: %s', async (_, text) => {
    await write(text);
    expect((await read())?.content === text).toBe(true);
  });

  test.skipIf(!made.can)('takes a small part of its length, and one that was stored as it is can be read', async () => {
    const text = JSON.stringify(Array.from({ length: 5_000 }, (_, n) => ({ name: `tool ${n}` })));
    await write(text);
    expect((await read())?.stored.length).toBeLessThan(text.length / 5);
    const { snapshots } = made.store.tables;
    await made.store.write((tx) =>
      tx
        .update(snapshots)
        .set({ content: sql`${text}` })
        .where(eq(snapshots.version, version)),
    );
    expect(await read()).toEqual({ content: text, stored: text });
  });
});
