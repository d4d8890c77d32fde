import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Row } from '#core/lib/sql/result.ts';
import type { RunOptions } from '#core/engines/shared/source.ts';
import { openMysql } from '#core/engines/mysql/source.ts';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import { AppError } from '#core/errors.ts';
import { fc } from '#test/support/chance.ts';
import { localPolicy, reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { openTcpProxy } from '#test/support/tcp-proxy.ts';
import { EVERY_ENGINE, type OpenEngine } from './every-engine.ts';
import { FIXED, READ, refusal, sql, WRITE } from './suite.ts';
import { until } from '#test/support/until.ts';

const COUNT = 10_000;
const NUMBERS: Readonly<Record<string, string>> = {
  postgresql: `select i as n, md5(i::text) as word from generate_series(1, ${COUNT}) as i`,
  mysql: `select seq as n, md5(seq) as word from seq_1_to_${COUNT}`,
  sqlite: `with recursive s (n) as (select 1 union all select n + 1 from s where n < ${COUNT}) select n, hex(n) as word from s`,
  duckdb: `select range as n, md5(range::varchar) as word from range(${COUNT})`,
  clickhouse: `SELECT number AS n, hex(number) AS word FROM numbers(${COUNT})`,
};
const textFor = (kind: string): string => NUMBERS[kind === 'libsql' ? 'sqlite' : kind] ?? '';
const ALL: Pick<RunOptions, 'max_rows' | 'max_bytes'> = { max_rows: COUNT, max_bytes: 64 * 1024 * 1024 };

/** What became of a call: its rows, or the code it was refused with. */
const outcomeOf = (call: Promise<{ readonly rows: readonly Row[] }>): Promise<number | string> =>
  call.then(
    ({ rows }) => rows.length,
    (error: unknown) => (error instanceof AppError ? error.code : Promise.reject(error)),
  );

describe.each(EVERY_ENGINE)('calls on $kind that are cut', ({ kind, up, open }) => {
  let engine: OpenEngine;
  beforeAll(async () => {
    if (up) engine = await open([]);
  }, 60_000);
  afterAll(() => engine?.close());

  test.skipIf(!up)(
    'at any moment leave their slots and sessions to others',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ ms: fc.integer({ min: 0, max: 120 }), fixed: fc.boolean(), late: fc.boolean() }), {
            minLength: 3,
            maxLength: 10,
          }),
          async (cuts) => {
            const source = await engine.again();
            try {
              const calls = cuts.map(({ ms, fixed, late }) => {
                const caller = new AbortController();
                if (!late) setTimeout(() => caller.abort(), ms);
                const limits = {
                  ...(fixed ? FIXED : READ),
                  ...ALL,
                  ...(late ? { timeout_ms: ms + 1 } : { signal: caller.signal }),
                };
                return outcomeOf(source.query(sql(textFor(kind)), limits));
              });
              for (const outcome of await Promise.all(calls)) expect(outcome).toBeOneOf([COUNT, 'cancelled', 'timeout']);
              const next = Array.from({ length: 6 }, () => outcomeOf(source.query(sql(textFor(kind)), { ...READ, ...ALL })));
              expect(await Promise.all(next)).toEqual(Array.from({ length: 6 }, () => COUNT));
              expect(source.sessions()).toBeLessThanOrEqual(4);
            } finally {
              await source.close();
            }
            expect(source.sessions()).toBe(0);
          },
        ),
        { numRuns: 3 },
      );
    },
    120_000,
  );
});

const SERVERS = [
  {
    kind: 'postgresql',
    up: reachable.postgres,
    open: openPostgres,
    busy: 'select count(*) as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  },
  {
    kind: 'mysql',
    up: reachable.mysql,
    open: openMysql,
    busy: 'select count(*) as n from information_schema.processlist where db = database() and id <> connection_id()',
  },
] as const;

/** Connections through it pass so many packets to the server; the first one that has more to say is not heard any more. */
async function openSilence({ settings: { host, port } }: TestDatabase, packets: number) {
  let silent: unknown = null;
  let last = '';
  let ended = false;
  const proxy = await openTcpProxy(
    { host: host ?? '', port: port ?? 0 },
    {
      toServer(bytes, connection) {
        if (!ended && silent === null && connection.sent > packets) {
          silent = connection;
          last = bytes.toString('latin1');
        }
        return silent === connection ? Buffer.alloc(0) : bytes;
      },
    },
  );
  /** From then on all is heard but that one connection. @returns what was not heard first; null: everything was heard. */
  const end = (): string | null => {
    ended = true;
    return silent === null ? null : last;
  };
  return { proxy, end };
}

describe.each(SERVERS)('a server of $kind that falls silent', ({ kind, up, open, busy }) => {
  let database: TestDatabase;

  beforeAll(async () => {
    if (!up) return;
    database = await testDatabase(kind);
    await database.run('create table items (id int)');
  });
  afterAll(async () => {
    if (database === undefined) return;
    await until(async () => Number((await database.run(busy))[0]?.['n']) === 0);
    await database.drop();
  });

  async function callAt(packets: number, text: string, limits: RunOptions): Promise<string | null> {
    const { proxy, end } = await openSilence(database, packets);
    const source = open({ ...database.settings, port: proxy.port, ssl_mode: 'disable', pool_size: 1 }, localPolicy);
    const began = performance.now();
    const call = source.query(sql(text), { ...limits, timeout_ms: 1_000 });
    const outcome = await Promise.race([outcomeOf(call), Bun.sleep(5_000).then(() => 'nothing')]);
    const took = performance.now() - began;
    const lost = end();
    if (outcome === 'nothing') {
      // Nobody knows what became of a commit that is not answered: it is waited for.
      expect(lost).toMatch(/commit/i);
      proxy.cut();
      expect((await refusal(call)).code).toBe('database_unreachable');
    } else {
      expect(`${packets}: ${outcome}`).toMatch(/: (?:timeout|0)$/);
      expect(took).toBeLessThan(4_500);
    }
    expect(await outcomeOf(source.query(sql('select id from items where 1 = 0'), READ))).toBe(0);
    await source.close();
    expect(source.sessions()).toBe(0);
    await proxy.close();
    return lost;
  }

  const review = (): boolean => true;
  test.skipIf(!up).each([
    ['a fixed read', 'select id from items where id = 0', FIXED],
    ['a read', 'select id from items where id = 0', READ],
    ['a write', 'insert into items values (1)', WRITE],
    ['a counted write', 'insert into items values (1)', { ...WRITE, review }],
  ] as const)(
    'at any packet of %s ends the call in time and frees its slot',
    async (_, text, limits) => {
      const lost = await Promise.all(Array.from({ length: 20 }, (__, packets) => callAt(packets, text, limits)));
      expect(lost.at(-1)).toBeNull();
    },
    60_000,
  );
});
