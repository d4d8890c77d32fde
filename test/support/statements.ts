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
