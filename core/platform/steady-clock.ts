import type { Platform } from '#core/platform/platform.ts';
import { eq } from 'drizzle-orm';
import { databaseTime } from './leases.ts';

/** While a server is up, old data is deleted many times within this: a longer gap is a pause, or a clock that jumped ahead. */
const USUAL_MS = 3_600_000;
/** After such a gap nothing is deleted for so long: until then somebody may have set the clock right. */
const HOLD_MS = 6 * 3_600_000;
/** The time is noted no more often. */
const NOTED_MS = 5 * 60_000;
const KEY = 'steady_clock';

/** What is stored of it, in ms since 1970: when it was read last, and since when it is far ahead of that; 0: it is not. */
interface Noted {
  readonly at: number;
  readonly ahead_since: number;
}

/**
 * Deletes what is old by a clock that is believed: a jump of the server's clock must not delete everything. With PostgreSQL the time
 * is that of the database if that is earlier. @param work gets the app with the time of the beginning.
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
  // It was ahead before, or is behind now: neither deletes too much.
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
