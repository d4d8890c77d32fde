import type { Platform } from '#core/platform/platform.ts';
import { and, eq, sql, type SQL } from 'drizzle-orm';
import type { Db, Store } from '#core/store/store.ts';

/** A server that was killed keeps its work from the others for no longer than this. */
const LEASE_SECONDS = 20;
/** No lease is for longer: one that says so is of a database whose clock was ahead. */
const LONGEST_SECONDS = 120;
const RENEW_MS = 5_000;

/** Seconds by the clock that all servers share. */
export const databaseSeconds = ({ store }: Platform): SQL<number> => SECONDS[store.dialect];
const SECONDS: Readonly<Record<Platform['store']['dialect'], SQL<number>>> = {
  sqlite: sql<number>`((julianday('now') - 2440587.5) * 86400.0)`,
  postgresql: sql<number>`extract(epoch from clock_timestamp())::double precision`,
};

/** The time by that clock, in ms since 1970; with an embedded database it is the server's own. */
export async function databaseTime(app: Platform, db: Db): Promise<number> {
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
export const mayHaveOthers = ({ store }: Platform): boolean => store.dialect === 'postgresql';

/** Takes or keeps a lease; false when another one has it. */
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

/** Another server may do the work by now: what is left of it must not happen here. */
export class LeaseLost extends Error {}

export interface Lease {
  /** Aborted as soon as it is known that the lease is lost. */
  readonly lost: AbortSignal;
  /** Rejects when the lease is lost. For right before what no transaction undoes: a request to somebody else. */
  check(): Promise<void>;
}

interface Times {
  readonly seconds: number;
  readonly renew_ms: number;
}

/**
 * Does the work unless another server does it now.
 * @param work gets the app as the holder has it, whose every write is refused in its own transaction when the lease is lost. A program
 * that was paused, or cut off from its database, for longer than the lease changes nothing that way.
 * @returns null when another server does the work, or took it over.
 */
export async function withLease<A extends Platform, T>(
  app: A,
  name: string,
  work: (held: A, lease: Lease) => Promise<T>,
  { seconds, renew_ms }: Times = { seconds: LEASE_SECONDS, renew_ms: RENEW_MS },
): Promise<T | null> {
  // Of this work alone: what took the lease in between was another one, even of this server.
  const holder = app.ids();
  const ending = new AbortController();
  const { signal: lost } = ending;
  let kept_until = performance.now() + seconds * 1_000;
  let over = false;
  if (!(await takeLease(app, name, holder, seconds))) return null;
  /** Keeps the lease in a transaction: until its end nobody else takes it. */
  const hold = async (tx: Db): Promise<void> => {
    lost.throwIfAborted();
    const until = performance.now() + seconds * 1_000;
    if (!(await renewLease(app, tx, { name, holder, seconds }))) ending.abort(new LeaseLost(`The lease ${name} was lost.`));
    lost.throwIfAborted();
    kept_until = until;
  };
  const check = (): Promise<void> => app.store.write(hold);
  const keeping = setInterval(() => {
    check().catch((error: unknown) => {
      if (over || lost.aborted) return;
      app.log.warning('a lease was not renewed', { name, reason: String(error) });
      if (performance.now() > kept_until) ending.abort(new LeaseLost(`The lease ${name} could not be renewed in time.`));
    });
  }, renew_ms);
  const { store } = app;
  const write: Store['write'] = (change) =>
    store.write(async (tx) => {
      // What follows the work in the background has no lease, and needs none.
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
    // What is not given back ends by itself.
    await endLease(app, name, holder).catch(() => undefined);
  }
}

/** Whether the holder still has the lease, which is kept then. */
async function renewLease(
  app: Platform,
  tx: Db,
  { name, holder, seconds }: { readonly name: string; readonly holder: string; readonly seconds: number },
): Promise<boolean> {
  const { leases } = app.store.tables;
  const kept = await tx
    .update(leases)
    .set({ until: sql<number>`${databaseSeconds(app)} + ${sql.raw(String(seconds))}` })
    .where(and(eq(leases.name, name), eq(leases.holder, holder)))
    .returning({ name: leases.name });
  return kept.length > 0;
}
