import { and, eq, sql, type SQL } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { Db } from '#core/store/open.ts';

/** A server that was killed keeps its work from the others for no longer than this. */
const LEASE_SECONDS = 20;
/** No lease is for longer: one that says so is of a database whose clock was ahead. */
const LONGEST_SECONDS = 120;
const RENEW_MS = 5_000;

/** Seconds by the clock that all servers share. */
export const databaseSeconds = ({ store }: App): SQL<number> => SECONDS[store.dialect];
const SECONDS: Readonly<Record<App['store']['dialect'], SQL<number>>> = {
  sqlite: sql<number>`((julianday('now') - 2440587.5) * 86400.0)`,
  postgresql: sql<number>`extract(epoch from clock_timestamp())::double precision`,
};

/** The time by that clock, in ms since 1970; with an embedded database it is the server's own. */
export async function databaseTime(app: App, db: Db): Promise<number> {
  const here = app.clock().getTime();
  if (app.store.dialect === 'sqlite') return here;
  const { meta } = app.store.tables;
  // One row is there from the first start on.
  const [row] = await db
    .select({ seconds: databaseSeconds(app) })
    .from(meta)
    .limit(1);
  return row === undefined ? here : row.seconds * 1_000;
}

/** Whether other servers may use the same database: an embedded one has a single server. */
export const mayHaveOthers = ({ store }: App): boolean => store.dialect === 'postgresql';

/** Takes or keeps a lease; false when another one has it. */
export async function takeLease(app: App, name: string, holder: string, seconds = LEASE_SECONDS): Promise<boolean> {
  const { leases } = app.store.tables;
  const now = databaseSeconds(app);
  const until = sql<number>`${now} + ${sql.raw(String(seconds))}`;
  const taken = await app.store.write((tx) =>
    tx
      .insert(leases)
      .values({ name, holder, until })
      .onConflictDoUpdate({
        target: leases.name,
        set: { holder, until },
        setWhere: sql`${leases.until} < ${now} or ${leases.until} > ${now} + ${sql.raw(String(LONGEST_SECONDS))} or ${leases.holder} = ${holder}`,
      })
      .returning({ name: leases.name }),
  );
  return taken.length > 0;
}

export async function endLease(app: App, name: string, holder: string): Promise<void> {
  const { leases } = app.store.tables;
  await app.store.write((tx) => tx.delete(leases).where(and(eq(leases.name, name), eq(leases.holder, holder))));
}

/** Does the work unless another server does it now. @returns null then. */
export async function withLease<T>(app: App, name: string, holder: string, work: () => Promise<T>): Promise<T | null> {
  if (!(await takeLease(app, name, holder))) return null;
  const keeping = setInterval(() => {
    takeLease(app, name, holder).catch((error: unknown) =>
      app.log.warning('a lease was not renewed', { name, reason: String(error) }),
    );
  }, RENEW_MS);
  try {
    return await work();
  } finally {
    clearInterval(keeping);
    // What is not given back ends by itself.
    await endLease(app, name, holder).catch(() => undefined);
  }
}
