import { afterAll, beforeAll } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '#core/store/open.ts';
import type { Store } from '#core/store/store.ts';
import { reachable, testDatabase, type TestDatabase } from './databases.ts';

export interface StoreOfTests {
  /** False: its database is not reachable, and the tests are skipped. */
  readonly can: boolean;
  /** From the first test on. */
  readonly store: Store;
}

/** An empty metadata store of this dialect for the tests of one `describe`. */
export function storeOf(dialect: 'sqlite' | 'postgresql'): StoreOfTests {
  const can = dialect === 'sqlite' || reachable.postgres;
  const folder = mkdtempSync(join(tmpdir(), 'sluice-store-'));
  let database: TestDatabase | null = null;
  let store: Store | undefined;
  beforeAll(async () => {
    if (!can) return;
    database = dialect === 'sqlite' ? null : await testDatabase('postgresql');
    store = await openStore(database?.url ?? `file:${folder}/sluice.sqlite`);
  });
  afterAll(async () => {
    await store?.close();
    await database?.drop();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    can,
    get store() {
      if (store === undefined) throw new Error('The store was not opened.');
      return store;
    },
  };
}
