import { expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import type { Db } from '#core/store/store.ts';
import { testApp } from '#test/support/app.ts';
import { type Dialect, namedStores } from '#test/support/metadata.ts';

/** Makes the rest of a transaction one that may not write, as a read-only disk or a server that became a standby does. */
const forbid = (tx: Db, metadata: Dialect) =>
  metadata === 'sqlite'
    ? (tx as never as { run(text: unknown): Promise<void> }).run(sql.raw('pragma query_only = on'))
    : (tx as never as { execute(text: unknown): Promise<void> }).execute(sql.raw('set transaction read only'));
const allow = async (tx: Db, metadata: Dialect) => {
  if (metadata === 'sqlite') await (tx as never as { run(text: unknown): Promise<void> }).run(sql.raw('pragma query_only = off'));
};

test.each(namedStores.map((name) => [name] as const))(
  'a change that %s may not write is refused with what to do',
  async (metadata) => {
    const t = await testApp({}, undefined, { metadata });
    const { store } = t.app;
    const put = (tx: Db, key: string) => tx.insert(store.tables.meta).values({ key, value: '' });
    const refused = store.write(async (tx) => {
      await forbid(tx, metadata);
      try {
        await put(tx, 'one');
      } finally {
        await allow(tx, metadata);
      }
    });
    const refusal: unknown = await refused.catch((error: unknown) => error);
    expect(refusal).toMatchObject({
      code: 'unavailable',
      detail: expect.stringContaining('can only be read, so nothing was changed'),
    });
    await store.write((tx) => put(tx, 'two'));
    await t.close();
  },
);
