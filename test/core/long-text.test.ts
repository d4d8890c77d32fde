import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eq, sql } from 'drizzle-orm';
import { openStore, type Store } from '#core/db/open.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';

describe.each(['sqlite', 'postgresql'] as const)('a long text in %s', (dialect) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-long-'));
  const can = dialect === 'sqlite' || reachable.postgres;
  let database: TestDatabase | null = null;
  let store: Store;
  beforeAll(async () => {
    if (!can) return;
    database = dialect === 'sqlite' ? null : await testDatabase('postgresql');
    store = await openStore(database?.url ?? `file:${folder}/sluice.sqlite`);
  });
  afterAll(async () => {
    if (can) await store.close();
    await database?.drop();
    rmSync(folder, { recursive: true });
  });

  let version = 0;
  const write = async (content: string) => {
    version += 1;
    const head = { version, checksum: '', note: null, actor: {}, created_at: '' };
    const counts = { connections: 0, tools: 0, resources: 0, prompts: 0 };
    await store.write((tx) => tx.insert(store.tables.snapshots).values({ ...head, counts, content }));
  };
  const read = async () => {
    const { snapshots } = store.tables;
    const [row] = await store.db
      .select({ content: snapshots.content, stored: sql<string>`${snapshots.content}` })
      .from(snapshots)
      .where(eq(snapshots.version, version));
    return row;
  };

  test.skipIf(!can).each([
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

  test.skipIf(!can)('takes a small part of its length, and one that was stored as it is can be read', async () => {
    const text = JSON.stringify(Array.from({ length: 5_000 }, (_, n) => ({ name: `tool ${n}` })));
    await write(text);
    expect((await read())?.stored.length).toBeLessThan(text.length / 5);
    const { snapshots } = store.tables;
    await store.write((tx) =>
      tx
        .update(snapshots)
        .set({ content: sql`${text}` })
        .where(eq(snapshots.version, version)),
    );
    expect(await read()).toEqual({ content: text, stored: text });
  });
});
