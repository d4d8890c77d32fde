import { desc, eq } from 'drizzle-orm';
import { countIn } from '#core/cluster/kv.ts';
import { AppError } from '#core/errors.ts';
import type { Context } from '#core/context/context.ts';
import { networkOf } from '#core/edge/client-address.ts';
import { PRODUCT_NAME } from '#core/process/version.ts';
import { personByName } from './account.ts';
import { noteAttempt } from './oauth/attempts.ts';
import { emitLater } from '#core/records/events.ts';

const WINDOW_MS = 15 * 60_000;
/** How many recent sign-ins are searched for the address of the caller. */
const LOOKED_AT = 1_000;

export interface SignInAttempt {
  /** Does not count the attempt as a failure after all. */
  forgive(): Promise<void>;
}

interface Limit {
  readonly key: string;
  readonly most: number;
  /** Called when the limit is reached. True: the attempt is allowed anyway. */
  readonly exempt?: () => Promise<boolean>;
}

/**
 * Limits failures of passwords and second factors within 15 minutes: 20 per address, 5 per account and address, 50 per account.
 * An attempt counts before it is checked, so that parallel guesses count too. The address is counted first: beyond its limit it
 * adds no counters for the names it tries.
 *
 * The limit of 50 protects the account against many addresses at once, but must not lock its owner out. A live session, which
 * has a limit of 50 itself, and an address that signed in before are exempt.
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
    // The username is omitted because people may type their password there.
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
 * Records why a password or a second factor was refused among the sign-in attempts. An unknown username is omitted, because it
 * may be a password.
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

/** Whether a person signed in to this account from this network before. */
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
