import { desc, eq } from 'drizzle-orm';
import { countIn } from '#core/cluster/count-in.ts';
import { AppError } from '#core/errors.ts';
import type { Context } from '#core/context/context.ts';
import { networkOf } from '#core/edge/network.ts';
import { PRODUCT_NAME } from '#core/process/version.ts';
import { personByName } from './account.ts';
import { noteAttempt } from './oauth/attempts.ts';
import { emitLater } from '#core/records/events.ts';

const WINDOW_MS = 15 * 60_000;
/** Sign-ins that are looked through for an address that signed in before. */
const LOOKED_AT = 1_000;

export interface SignInAttempt {
  /** Takes the attempt back: it was no failure. */
  forgive(): Promise<void>;
}

interface Limit {
  readonly key: string;
  readonly most: number;
  /** Asked when the limit is reached: who is exempt goes on. */
  readonly exempt?: () => Promise<boolean>;
}

/**
 * Failures within 15 minutes, of passwords and second factors together: 20 of one address, 5 of an account from one address, 50
 * of an account. Counted before anything is looked at, so parallel guesses count too. The address comes first: one that has
 * used up its attempts adds no further counters, whatever names it tries.
 *
 * The 50 protect the account from many addresses at once, and must not lock its owner out: a live session and an address that
 * signed in before are exempt. A session has 50 of its own.
 */
export async function countAttempt(context: Context, username: string): Promise<SignInAttempt> {
  const { app, ip, actor } = context;
  const account = new Bun.CryptoHasher('sha256').update(username.toLowerCase()).digest('hex').slice(0, 32);
  const network = networkOf(ip ?? '');
  const in_session = actor?.session_id !== undefined && actor.name.toLowerCase() === username.toLowerCase();
  const limits: readonly Limit[] = [
    { key: `login:address:${network}`, most: 20 },
    { key: `login:pair:${account}:${network}`, most: 5 },
    in_session
      ? { key: `login:session:${actor.session_id}`, most: 50 }
      : { key: `login:account:${account}`, most: 50, exempt: () => signedInFrom(context, username, network) },
  ];
  for (const [index, { key, most, exempt }] of limits.entries()) {
    const { count, retry_after } = await countIn(app, key, WINDOW_MS);
    if (count <= most || (await exempt?.()) === true) continue;
    for (const earlier of limits.slice(0, index + 1)) await app.kv.increment(earlier.key, WINDOW_MS, -1);
    // What was typed as a name may be a password.
    emitLater(app, 'login_locked', { limit: key.split(':')[1], address: ip, retry_after }, { key, within_ms: WINDOW_MS });
    throw new AppError('rate_limited', `Too many failed attempts. Wait ${Math.ceil(retry_after / 60)} minutes, then try again.`, {
      retry_after,
    });
  }
  return {
    async forgive() {
      for (const { key } of limits) await app.kv.increment(key, WINDOW_MS, -1);
    },
  };
}

/**
 * Notes why a password or a second factor was refused, among the sign-ins of clients: whoever looks for why people cannot come in
 * looks there. A name that nobody has is left out: it may be a password.
 */
export async function noteRefusal<T>(context: Context, username: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError) {
      const { app, ip } = context;
      const person = (await personByName(context, username))?.username ?? null;
      const client = { client: PRODUCT_NAME, client_id: PRODUCT_NAME };
      await noteAttempt(app, { ...client, step: 'password', reason: error.detail, person, ip });
    }
    throw error;
  }
}

/** Whether somebody signed in to this account from this network before. */
async function signedInFrom({ app }: Context, username: string, network: string): Promise<boolean> {
  const { people, sessions } = app.store.tables;
  const rows = await app.store.db
    .select({ ip: sessions.ip })
    .from(sessions)
    .innerJoin(people, eq(people.id, sessions.person_id))
    .where(eq(people.username, username))
    .orderBy(desc(sessions.created_at))
    .limit(LOOKED_AT);
  return rows.some(({ ip }) => ip !== null && networkOf(ip) === network);
}
