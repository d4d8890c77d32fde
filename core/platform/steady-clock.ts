import type { Platform } from '#core/platform/platform.ts';
import { eq } from 'drizzle-orm';
import { databaseTime } from './leases.ts';

/** A running server deletes old data much more often than this. A longer gap means a pause, or a clock that jumped ahead. */
const USUAL_MS = 3_600_000;
/** After such a gap, no data is deleted for this long, so that an operator can correct the clock. */
const HOLD_MS = 6 * 3_600_000;
/** Minimum interval between stored times. */
const NOTED_MS = 5 * 60_000;
const KEY = 'steady_clock';

/** Stored state in milliseconds since 1970: the time of the last run, and when a jump ahead was first detected (0: none). */
interface Noted {
  readonly at: number;
  readonly ahead_since: number;
}

/**
 * Deletes old data only while the clock is plausible: a jump of the server's clock must not delete everything. With PostgreSQL,
 * the earlier of the server's and the database's time is used. @param work receives an app whose clock is fixed at the start.
 * @returns null while the time may be wrong.
 */
export async function withSteadyClock<A extends Platform, T>(app: A, work: (app: A) => Promise<T>): Promise<T | null> {
  const now = Math.min(app.clock().getTime(), await databaseTime(app, app.store.db));
  const noted = await readNoted(app, now);
  const next = nextAfter(noted, now);
  if (next.at !== noted.at || next.ahead_since !== noted.ahead_since) await write(app, next);
  if (next.ahead_since === 0) return work({ ...app, clock: () => new Date(now) });
  if (noted.ahead_since !== next.ahead_since) {
    const [last, until] = [next.at, next.ahead_since + HOLD_MS].map((ms) => new Date(ms).toISOString());
    app.log.warning('the clock is far ahead of the last deletion of old data, which waits', { last, until });
  }
  return null;
}

function nextAfter(noted: Noted, now: number): Noted {
  const gap = now - noted.at;
  if (Math.abs(gap) < NOTED_MS && noted.ahead_since === 0) return noted;
  // The clock was ahead before, or is behind now: neither deletes too much.
  if (gap < 0) return { at: now, ahead_since: 0 };
  const has_held = noted.ahead_since > 0 && now - noted.ahead_since >= HOLD_MS;
  if (gap <= USUAL_MS || has_held) return { at: now, ahead_since: 0 };
  const is_new = noted.ahead_since === 0 || now < noted.ahead_since;
  return is_new ? { at: noted.at, ahead_since: now } : noted;
}

async function readNoted(app: Platform, now: number): Promise<Noted> {
  const { meta } = app.store.tables;
  const [row] = await app.store.db.select().from(meta).where(eq(meta.key, KEY));
  const [at = Number.NaN, ahead_since = 0] = (row?.value ?? '').split(' ').map(Number);
  return row === undefined || Number.isNaN(at) ? { at: now - NOTED_MS, ahead_since: 0 } : { at, ahead_since };
}

async function write(app: Platform, { at, ahead_since }: Noted): Promise<void> {
  const { meta } = app.store.tables;
  const value = `${at} ${ahead_since}`;
  await app.store.write((tx) =>
    tx.insert(meta).values({ key: KEY, value }).onConflictDoUpdate({ target: meta.key, set: { value } }),
  );
}
