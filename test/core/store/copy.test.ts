import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Column, getTableColumns } from 'drizzle-orm';
import { copyRows, firstWithRows } from '#core/store/copy.ts';
import { openStore } from '#core/store/open.ts';
import type { Store } from '#core/store/store.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';

/** Texts that a careless copy changes. */
const TEXT = 'naïve 🎈 "quoted"\\ \n\t';
const LONG = TEXT.repeat(200);

type Tables = Store['tables'];
const names = (tables: Tables) => Object.keys(tables) as (keyof Tables)[];

/** A value of a column in its n-th row. Row 1 has null where it may be. */
function valueOf(column: Column, n: number): unknown {
  if (n === 1 && !column.notNull && !column.primary) return null;
  if (column.dataType === 'boolean') return n % 2 === 0;
  if (column.dataType === 'number') return column.getSQLType() === 'real' ? n + 0.125 : n + 1;
  // Both kinds of custom columns are texts: JSON has an object here, a long text stays one.
  if (column.dataType === 'custom') return column.mapToDriverValue(TEXT) === TEXT ? LONG : { [TEXT]: [n, null, 1e21, 'a'] };
  return `${n} ${TEXT}`;
}

async function fill(store: Store, rows: number): Promise<void> {
  const { tables } = store;
  for (const name of names(tables)) {
    const columns: [string, Column][] = Object.entries(getTableColumns(tables[name]));
    const list = Array.from({ length: rows }, (_, n) =>
      Object.fromEntries(columns.map(([key, column]) => [key, valueOf(column, n)])),
    );
    await store.write(async (tx) => void (await tx.insert(tables[name]).values(list as never)));
  }
}

async function contents({ tables, db }: Store): Promise<Record<string, unknown>> {
  const read = names(tables).map(async (name) => {
    const rows: object[] = await db.select().from(tables[name]);
    return [name, rows.map((row) => JSON.stringify(row)).toSorted()] as const;
  });
  return Object.fromEntries(await Promise.all(read));
}

describe.skipIf(!reachable.postgres)('copying the embedded database to PostgreSQL', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-copy-'));
  let from: Store;
  let database: Awaited<ReturnType<typeof testDatabase>>;
  beforeAll(async () => {
    from = await openStore(`file:${join(folder, 'from.sqlite')}`);
    database = await testDatabase('postgresql');
  });
  afterAll(async () => {
    await from.close();
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  test('keeps every value of every table, and numbers new rows after the copied ones', async () => {
    await fill(from, 230);
    const to = await openStore(database.url);
    expect(await firstWithRows(to)).toBeNull();
    const told = new Map<string, number>();
    const rows = await copyRows(from, to, (name, number) => void told.set(name, number));
    const { hosts, leases, ...expected } = await contents(from);
    expect(await contents(to)).toEqual({ ...expected, hosts: [], leases: [] });
    expect([...told.keys()].toSorted()).toEqual(Object.keys(expected).toSorted());
    expect(rows).toBe(told.size * 230);
    expect(await firstWithRows(to)).toBe('meta');
    const { changes } = to.tables;
    const [next] = await to.write((tx) => tx.insert(changes).values({ kind: 'tool', entity_id: 'x' }).returning());
    expect(next?.seq).toBe(231);
    await to.close();
  }, 60_000);

  test('keeps nothing of it when the other database refuses a row', async () => {
    const empty = await testDatabase('postgresql');
    const to = await openStore(empty.url);
    const { server_config } = from.tables;
    await from.write((tx) => tx.update(server_config).set({ version: 2 ** 40 }));
    const refused = copyRows(from, to, () => undefined);
    const detail = 'The table server_config has a row that the other database refuses (22003), so nothing was copied.';
    expect(await refused.catch((error: unknown) => error)).toMatchObject({ detail });
    expect(await firstWithRows(to)).toBeNull();
    await to.close();
    await empty.drop();
  }, 60_000);
});
