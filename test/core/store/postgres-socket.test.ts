import { describe, expect, test } from 'bun:test';
import postgres from 'postgres';
import { openPostgresSocket } from '#core/store/postgres-socket.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';

const SILENCE_MS = 400;

/** One connection of the metadata client whose patience is short. */
async function withClient(work: (sql: postgres.Sql) => Promise<void>): Promise<void> {
  const database = await testDatabase('postgresql');
  const socket = (target: Parameters<typeof openPostgresSocket>[0]) =>
    openPostgresSocket(target, null, { silence_ms: SILENCE_MS, setup: null });
  const options = { max: 1, fetch_types: false, socket };
  const sql = postgres(database.url, options as postgres.Options<Record<string, never>>);
  try {
    await work(sql);
  } finally {
    await sql.end({ timeout: 0 });
    await database.drop();
  }
}

describe.skipIf(!reachable.postgres)('a connection to the metadata database', () => {
  test('ends when the second of two statements that were sent together is not answered', () =>
    withClient(async (sql) => {
      let said = '';
      const work = sql.begin(async (tx) => {
        // The driver sends a statement when it is awaited.
        const first = tx.unsafe('select 1 as n').then((rows) => rows[0]?.['n']);
        const late = tx.unsafe('select pg_sleep(3600)').then(String, String);
        expect(await first).toBe(1);
        // What is asked meanwhile gives it no more time.
        const asking = setInterval(() => void tx.unsafe('select 2').catch(() => undefined), SILENCE_MS / 4);
        said = await late;
        clearInterval(asking);
      });
      await work.catch(() => undefined);
      expect(said).toContain(`sent nothing for ${SILENCE_MS} ms`);
    }));

  test('stays when everything is answered, and statements were refused', () =>
    withClient(async (sql) => {
      const pid = async () => (await sql`select pg_backend_pid() as pid`)[0]?.['pid'] as number;
      const before = await pid();
      const asked = Array.from({ length: 40 }, (_, n) => {
        if (n % 4 === 0) return sql.unsafe('select 1 / $1::int', [0]);
        if (n % 4 === 1) return sql.unsafe('select nothing');
        return sql.unsafe('select $1::int as n', [n], { prepare: n % 4 === 2 });
      });
      const settled = await Promise.allSettled(asked);
      expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(20);
      await sql.begin(async (tx) => Promise.all([tx`select 1`, tx`select ${2}::int`]));
      await Bun.sleep(SILENCE_MS * 2);
      expect(await pid()).toBe(before);
    }));
});
