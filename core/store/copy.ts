import { count, getTableColumns, getTableName, sql } from 'drizzle-orm';
import { AppError } from '#core/errors.ts';
import type { Db, Store } from './store.ts';
import type { Schema } from './schema.ts';

/** What running servers write anew: hosts that are connected, and work that one server does at a time. */
const OF_RUNNING_SERVERS: ReadonlySet<string> = new Set<keyof Schema>(['hosts', 'leases']);

/** Rows of snapshots can have a megabyte each. */
const ROWS_PER_STATEMENT = 100;

type Table = Schema[keyof Schema];

const tablesOf = (tables: Schema): [name: keyof Schema, table: Table][] =>
  (Object.entries(tables) as [keyof Schema, Table][]).filter(([name]) => !OF_RUNNING_SERVERS.has(name));

/** The first table with a row. Null when there is none. */
export async function firstWithRows({ tables, db }: Store): Promise<string | null> {
  for (const [name, table] of tablesOf(tables)) {
    const [row] = await db
      .select({ one: sql`1` })
      .from(table)
      .limit(1);
    if (row !== undefined) return name;
  }
  return null;
}

/**
 * Copies every row of a metadata database into one without rows, in one transaction. Both have the same migrations, and no server uses
 * either. @param onTable called after each table with rows. @returns the number of rows.
 */
export async function copyRows(from: Store, to: Store, onTable: (name: string, rows: number) => void): Promise<number> {
  return from.read((source) =>
    to.write(async (target) => {
      let total = 0;
      for (const [name, table] of tablesOf(from.tables)) {
        const rows = await copyTable(source, target, from, table, to.tables[name]).catch((cause: unknown) => {
          const detail = `The table ${name} has a row that the other database refuses (${codeOf(cause)}), so nothing was copied.`;
          throw cause instanceof AppError ? cause : new AppError('conflict', detail, { cause });
        });
        if (to.dialect === 'postgresql') await restartCounters(target, to.tables[name]);
        const [found] = await target.select({ rows: count() }).from(to.tables[name]);
        if (found?.rows !== rows)
          throw new AppError(
            'internal',
            `The table ${name} has ${found?.rows ?? 0} of ${rows} rows after copying, so nothing was kept.`,
          );
        if (rows > 0) onTable(name, rows);
        total += rows;
      }
      return total;
    }),
  );
}

/** The SQLSTATE of a refusal. Its message could contain values. */
function codeOf(error: unknown): string {
  for (let fault: unknown = error; fault instanceof Error; fault = fault.cause)
    if ('code' in fault && typeof fault.code === 'string') return fault.code;
  return 'without a code';
}

async function copyTable(source: Db, target: Db, { dialect }: Store, table: Table, into: Table): Promise<number> {
  // Both dialects number the rows of every table, whatever its keys.
  const position = dialect === 'postgresql' ? sql<string>`ctid` : sql<string>`rowid`;
  let rows = 0;
  for (let last: unknown = null; ;) {
    const page: Record<string, unknown>[] = await source
      .select({ ...getTableColumns(table), row_position: position })
      .from(table)
      .where(last === null ? undefined : sql`${position} > ${last}`)
      .orderBy(position)
      .limit(ROWS_PER_STATEMENT);
    const end = page.at(-1);
    if (end === undefined) return rows;
    last = end['row_position'];
    await target.insert(into).values(page.map(({ row_position: _, ...row }) => row));
    rows += page.length;
    if (page.length < ROWS_PER_STATEMENT) return rows;
  }
}

/** The next row that PostgreSQL numbers comes after the copied ones. */
async function restartCounters(target: Db, table: Table): Promise<void> {
  for (const column of Object.values(getTableColumns(table))) {
    if (!('generatedIdentity' in column) || column.generatedIdentity === undefined) continue;
    const newest = sql`max(${column})`;
    const sequence = sql`pg_get_serial_sequence(${getTableName(table)}, ${column.name})`;
    await target.select({ set: sql`setval(${sequence}, coalesce(${newest}, 1), ${newest} is not null)` }).from(table);
  }
}
