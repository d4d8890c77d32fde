import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { exchangeOf } from '#core/lib/postgres/exchange.ts';
import { type Line, openLine } from '#core/lib/postgres/line.ts';
import { login } from '#core/lib/postgres/login.ts';
import { bindAndExecute, parseMessage, simpleQuery, SYNC } from '#core/lib/postgres/messages.ts';
import { lastRow } from '#core/lib/postgres/reader.ts';
import { createRandom } from '#test/support/chance.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { until } from '#test/support/until.ts';

describe.skipIf(!reachable.postgres)('a session of PostgreSQL without a driver', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase('postgresql');
  });
  afterAll(() => database.drop());

  async function signIn(user: string, password: string, name = database.settings.database) {
    const { host, port } = database.settings;
    const socket = connect(port ?? 5432, host ?? '');
    const { backend, rest } = await login(socket, { user, password, database: name, settings: { application_name: 'line' } });
    const line = openLine(socket, { exceeded: () => socket.destroy(), strange: () => socket.destroy() });
    socket.on('data', (chunk: Buffer) => line.take(chunk)).resume();
    line.take(rest);
    return { line, backend, socket };
  }

  const ask = async (line: Line, text: string) => {
    const rows = lastRow();
    await line.exchange(simpleQuery(text), 'alone', { rows });
    return rows.cells;
  };

  test.each([true, false])(
    'each statement of a flight has a transaction of its own that only reads (one command: %p)',
    async (chains) => {
      const { line, socket } = await signIn('postgres', '');
      line.prepareTransactions(chains);
      const text = `select pg_current_xact_id_if_assigned() is null, current_setting('transaction_read_only'), now()`;
      await line.exchange(Buffer.concat([parseMessage('asked', text, []), SYNC]), 'call');
      const asked = async () => {
        const rows = lastRow();
        await line.exchange(bindAndExecute('asked', []), 'call', { rows });
        return rows.cells;
      };
      const seen = [...(await Promise.all([asked(), asked(), asked(), asked()])), await asked()];
      for (const [has_written_nothing, reads_only] of seen) expect([has_written_nothing, reads_only]).toEqual(['t', 'on']);
      // The time of a transaction is that of its beginning.
      expect(new Set(seen.map(([, , began]) => began)).size).toBe(5);
      expect(line.is_clean()).toBe(true);
      socket.destroy();
    },
  );

  test.each([true, false])(
    'each failing call of a flight has its own answer, and the session stays clean (one command: %p)',
    async (chains) => {
      const { line, backend, socket } = await signIn('postgres', '');
      line.prepareTransactions(chains);
      await line.exchange(Buffer.concat([parseMessage('asked', 'select 100 / $1::int', []), SYNC]), 'call');
      const divide = async (by: number) => {
        const rows = lastRow();
        try {
          await line.exchange(bindAndExecute('asked', [String(by)]), 'call', { rows });
          return rows.cells[0];
        } catch (error) {
          return error instanceof Error && 'code' in error ? error.code : error;
        }
      };
      const chance = createRandom();
      const random = Array.from({ length: 400 }, () => chance.whole(4));
      const answers: unknown[] = [];
      for (let at = 0; at < random.length;) {
        const size = 1 + chance.whole(8);
        const asked = random.slice(at, at + size).map(divide);
        // Some come while the others are on their way.
        if (chance.whole(2) === 0) await Bun.sleep(0);
        answers.push(...(await Promise.all(asked)));
        at += size;
      }
      expect(answers).toEqual(random.map((by) => (by === 0 ? '22012' : String(Math.trunc(100 / by)))));
      expect(await ask(line, 'select pg_backend_pid(), pg_current_xact_id_if_assigned()')).toEqual([String(backend.pid), null]);
      expect(line.is_clean()).toBe(true);
      socket.destroy();
    },
  );

  /** A statement as a host sends it: its answer is read, and it may be told to go elsewhere. */
  const steady = (line: Line, values: readonly string[]): Promise<readonly (string | null)[] | 'displaced' | { code: unknown }> =>
    new Promise((resolve) => {
      const rows = lastRow();
      let displaced = false;
      const end = (error: unknown) =>
        resolve(displaced ? 'displaced' : error === null ? rows.cells : { code: (error as { code?: unknown }).code });
      const exchange = exchangeOf('call', end, { rows });
      exchange.steady = true;
      exchange.displace = () => (displaced = true);
      line.put({ bytes: bindAndExecute('asked', values), exchange });
    });

  test.each([true, false])(
    'steady statements of a flight have a transaction each, though they are answered at once (%p)',
    async (chains) => {
      const { line, socket } = await signIn('postgres', '');
      line.prepareTransactions(chains);
      const text = `select $1::text, now(), current_setting('transaction_read_only'), set_config('sluice.trace', coalesce(current_setting('sluice.trace', true), '') || $1, true)`;
      await line.exchange(Buffer.concat([parseMessage('asked', text, []), SYNC]), 'call');
      // On a slow machine the first one may take so long that the others go elsewhere; then they are sent again.
      const seen = await until(async () => {
        const answers = await Promise.all(['0', '1', '2', '3', '4', '5'].map((n) => steady(line, [n])));
        return answers.every(Array.isArray) && (answers as string[][]);
      });
      expect(seen.map(([n, , reads_only, trace]) => [n, reads_only, trace])).toEqual(
        ['0', '1', '2', '3', '4', '5'].map((n) => [n, 'on', n]),
      );
      expect(new Set(seen.map(([, began]) => began)).size).toBe(6);
      expect(line.is_clean()).toBe(true);
      socket.destroy();
    },
  );

  test.each([true, false])(
    'statements skipped behind a failed steady one run elsewhere, and the session stays clean (%p)',
    async (chains) => {
      for (let failing = 1; failing < 6; failing++) {
        const { line, backend, socket } = await signIn('postgres', '');
        line.prepareTransactions(chains);
        await line.exchange(Buffer.concat([parseMessage('asked', 'select 100 / $1::int', []), SYNC]), 'call');
        const expected = [0, 1, 2, 3, 4, 5].map((n) => (n < failing ? ['10'] : n === failing ? { code: '22012' } : 'displaced'));
        // The first one goes alone, and the others together. On a slow machine more of them go elsewhere; then they are sent again.
        await until(async () => {
          const answers = await Promise.all([0, 1, 2, 3, 4, 5].map((n) => steady(line, [n === failing ? '0' : '10'])));
          return Bun.deepEquals(answers, expected);
        });
        expect(await until(async () => [await steady(line, ['20'])].find(Array.isArray))).toEqual(['5']);
        expect(await ask(line, 'select pg_backend_pid(), pg_current_xact_id_if_assigned()')).toEqual([String(backend.pid), null]);
        expect(line.is_clean()).toBe(true);
        socket.destroy();
      }
    },
  );

  test('a command of the transaction that was replaced shows, and the session counts as spoiled', async () => {
    for (const replaced of ['begin', 'rollback', 'chain']) {
      const { line, socket } = await signIn('postgres', '');
      line.prepareTransactions(true);
      await ask(line, `deallocate ${replaced}; prepare ${replaced} as select 666`);
      expect(line.is_clean()).toBe(true);
      await line.exchange(Buffer.concat([parseMessage('asked', 'select 1', []), SYNC]), 'call').catch(() => {});
      const calls = [1, 2, 3].map(() => line.exchange(bindAndExecute('asked', []), 'call'));
      await Promise.allSettled(calls);
      await ask(line, 'select 1');
      expect([replaced, line.is_clean()]).toEqual([replaced, false]);
      socket.destroy();
    }
  });

  test('a session tells its number, and an unknown database is the server\u2019s own error', async () => {
    const { line, backend, socket } = await signIn('postgres', '');
    expect(await ask(line, 'select pg_backend_pid()')).toEqual([String(backend.pid)]);
    expect(await ask(line, 'show application_name')).toEqual(['line']);
    socket.destroy();
    expect(await signIn('postgres', '', 'there_is_none').catch((error: unknown) => error)).toMatchObject({ code: '3D000' });
  });
});
