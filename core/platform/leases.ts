import type { Platform } from '#core/platform/platform.ts';
import { reasonOf } from '#core/process/log.ts';
import { and, eq, sql, type SQL } from 'drizzle-orm';
import type { Db, Store } from '#core/store/store.ts';

/** After a server is killed, other servers wait at most this long to take over its work. */
const LEASE_SECONDS = 20;
/** Leases that end later were written while the database's clock was ahead, and are ignored. */
const LONGEST_SECONDS = 120;
const RENEW_MS = 5_000;

/** The database's time in seconds: all servers share this clock. */
export const databaseSeconds = ({ store }: Platform): SQL<number> => SECONDS[store.dialect];
const SECONDS: Readonly<Record<Platform['store']['dialect'], SQL<number>>> = {
  sqlite: sql<number>`((julianday('now') - 2440587.5) * 86400.0)`,
  postgresql: sql<number>`extract(epoch from clock_timestamp())::double precision`,
};

/** The database's time in milliseconds since 1970; with an embedded database, the server's time. */
export async function databaseTime(app: Platform, db: Db): Promise<number> {
  const here = app.clock().getTime();
  if (app.store.dialect === 'sqlite') return here;
  const { meta } = app.store.tables;
  // This table always has a row after the first start.
  const [row] = await db
    .select({ seconds: databaseSeconds(app) })
    .from(meta)
    .limit(1);
  return row === undefined ? here : row.seconds * 1_000;
}

/** Whether other servers can use the same database. An embedded database has a single server. */
export const mayHaveOthers = ({ store }: Platform): boolean => store.dialect === 'postgresql';

/** Acquires or renews a lease. Returns false if another holder has it. */
export async function takeLease(app: Platform, name: string, holder: string, seconds = LEASE_SECONDS): Promise<boolean> {
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

export async function endLease(app: Platform, name: string, holder: string): Promise<void> {
  const { leases } = app.store.tables;
  await app.store.write((tx) => tx.delete(leases).where(and(eq(leases.name, name), eq(leases.holder, holder))));
}

/** The lease is lost, so another server may run the work and the rest of it must not run here. */
export class LeaseLost extends Error {}

export interface Lease {
  /** Aborted when the loss of the lease is detected. */
  readonly lost: AbortSignal;
  /** Rejects if the lease is lost. Call it right before a request to another system, which no transaction can undo. */
  check(): Promise<void>;
}

interface Times {
  readonly seconds: number;
  readonly renew_ms: number;
}

/**
 * Runs the work unless another server is running it.
 * @param work receives an app whose writes renew the lease in the same transaction and fail once it is lost. A program that was
 * paused or disconnected for longer than the lease therefore changes nothing.
 * @returns null if another server runs the work or took it over.
 */
export async function withLease<A extends Platform, T>(
  app: A,
  name: string,
  work: (held: A, lease: Lease) => Promise<T>,
  { seconds, renew_ms }: Times = { seconds: LEASE_SECONDS, renew_ms: RENEW_MS },
): Promise<T | null> {
  // A new holder for each run, so that a later run of this server is a different holder.
  const holder = app.ids();
  const ending = new AbortController();
  const { signal: lost } = ending;
  let held_until = performance.now() + seconds * 1_000;
  let over = false;
  if (!(await takeLease(app, name, holder, seconds))) return null;
  /** Renews the lease in the transaction: no other server can acquire it until the transaction ends. */
  const hold = async (tx: Db): Promise<void> => {
    lost.throwIfAborted();
    const until = performance.now() + seconds * 1_000;
    if (!(await renewLease(app, tx, { name, holder, seconds }))) ending.abort(new LeaseLost(`The lease ${name} was lost.`));
    lost.throwIfAborted();
    held_until = until;
  };
  const check = (): Promise<void> => app.store.write(hold);
  const keeping = setInterval(() => {
    check().catch((error: unknown) => {
      if (over || lost.aborted) return;
      app.log.warning('a lease was not renewed', { name, reason: reasonOf(error) });
      if (performance.now() > held_until) ending.abort(new LeaseLost(`The lease ${name} could not be renewed in time.`));
    });
  }, renew_ms);
  const { store } = app;
  const write: Store['write'] = (change) =>
    store.write(async (tx) => {
      // Background work that continues after the lease writes without it.
      if (!over) await hold(tx);
      return change(tx);
    });
  try {
    return await work({ ...app, store: { ...store, write } }, { lost, check });
  } catch (error) {
    if (!lost.aborted) throw error;
    app.log.warning('work was left to another server', { name, reason: String(lost.reason) });
    return null;
  } finally {
    over = true;
    clearInterval(keeping);
    // If the release fails, the lease expires.
    await endLease(app, name, holder).catch(() => undefined);
  }
}

/** Returns false if the lease was lost. */
async function renewLease(
  app: Platform,
  tx: Db,
  { name, holder, seconds }: { readonly name: string; readonly holder: string; readonly seconds: number },
): Promise<boolean> {
  const { leases } = app.store.tables;
  const renewed = await tx
    .update(leases)
    .set({ until: sql<number>`${databaseSeconds(app)} + ${sql.raw(String(seconds))}` })
    .where(and(eq(leases.name, name), eq(leases.holder, holder)))
    .returning({ name: leases.name });
  return renewed.length > 0;
}
