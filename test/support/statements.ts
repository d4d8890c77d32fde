import { sql } from 'drizzle-orm';
import type { Store } from '#core/store/store.ts';

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Every statement that an embedded store is sent meanwhile, in transactions too. */
export async function statementsOf({ db }: Pick<Store, 'db'>, work: () => Promise<unknown>): Promise<Statement[]> {
  const sent: Statement[] = [];
  const logger = { logQuery: (text: string, values: readonly unknown[]) => sent.push({ text, values }) };
  const session = objectAt(db, 'session');
  // A transaction has a session of its own, made with these options.
  const places = [session, objectAt(session, 'options')];
  const before = places.map((place): unknown => Reflect.get(place, 'logger'));
  for (const place of places) Reflect.set(place, 'logger', logger);
  try {
    await work();
  } finally {
    for (const [n, place] of places.entries()) Reflect.set(place, 'logger', before[n]);
  }
  return sent;
}

function objectAt(of: object, key: string): object {
  const found: unknown = Reflect.get(of, key);
  if (typeof found === 'object' && found !== null) return found;
  throw new Error(`drizzle has no ${key} here.`);
}

/** How an embedded store would answer a statement, from `explain query plan`. */
export async function planOf({ db }: Pick<Store, 'db'>, { text, values }: Statement): Promise<string> {
  // The text stands between the values of the template, which are the parameters.
  const [first = '', ...rest] = text.split('?');
  const query = sql.join([
    sql.raw(`explain query plan ${first}`),
    ...rest.flatMap((part, n) => [sql`${values[n]}`, sql.raw(part)]),
  ]);
  const steps: unknown[] = await db.all(query);
  return steps.map((step) => Object(step).detail ?? '').join('; ');
}
