import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openMysql } from '#core/engines/mysql/source.ts';
import { parseDatetime, utcDatetime } from '#core/lib/text/datetimes.ts';
import type { BoundType, Json } from '#core/lib/sql/result.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { EVERY_ENGINE, type OpenEngine } from './every-engine.ts';
import { FIXED, READ, sql } from './suite.ts';
import { toolOn } from './tool-call.ts';

/** One moment, as callers write it. */
const SAME = [
  '2026-01-01T00:30:00.25+02:00',
  '2026-01-01T00:30:00.25+0200',
  '2026-01-01t00:30:00.25+02:00',
  '2025-12-31T17:00:00.25-05:30',
  '2025-12-31T22:30:00.25Z',
  '2025-12-31t22:30:00.25z',
];
const NEXT = '2026-01-01T00:30:01+02:00';

type Cast = readonly [expression: string, back: Json];
const SQLITE_CASTS: readonly Cast[] = [
  ["strftime('%Y-%m-%d %H:%M:%f', ?)", '2025-12-31 22:30:00.250'],
  ['date(?)', '2025-12-31'],
  ['unixepoch(?)', 1_767_220_200],
];
const SQLITE_LIST: Cast = ['SELECT datetime(value) AS list FROM json_each(?) LIMIT 1', '2025-12-31 22:30:00'];

/** What each engine makes of the moment as a value of some of its types. */
const CASTS: Readonly<Record<string, readonly Cast[]>> = {
  postgresql: [
    ['$1::timestamp', '2025-12-31T22:30:00.25'],
    ['$1::timestamp(0)', '2025-12-31T22:30:00'],
    ['$1::timestamptz', '2025-12-31T22:30:00.25Z'],
    ['$1::date', '2025-12-31'],
    ['$1::stamped', '2025-12-31T22:30:00.25'],
    ["date '2025-12-31' = $1", true],
    ["$1 - timestamp '2025-12-31 22:00:00'", '00:30:00.25'],
  ],
  mysql: [
    ['CAST(? AS DATETIME(2))', '2025-12-31T22:30:00.25'],
    ['CAST(? AS DATE)', '2025-12-31'],
    ['CAST(? AS TIME(2))', '22:30:00.25'],
  ],
  sqlite: SQLITE_CASTS,
  libsql: SQLITE_CASTS,
  duckdb: [
    ['$1::TIMESTAMP', '2025-12-31T22:30:00.25'],
    ['$1::TIMESTAMPTZ', '2025-12-31T22:30:00.25Z'],
    ['$1::DATE', '2025-12-31'],
    ['$1::TIME', '22:30:00.25'],
  ],
  clickhouse: [
    ["toString({p1:Nullable(DateTime64(6,'UTC'))})", '2025-12-31 22:30:00.250000'],
    ["toDate({p1:Nullable(DateTime64(6,'UTC'))})", '2025-12-31'],
  ],
};

const LISTS: Readonly<Record<string, Cast>> = {
  postgresql: ['select $1::timestamp[] as list', ['2025-12-31T22:30:00.25', null]],
  mysql: [
    "SELECT d AS list FROM JSON_TABLE(?, '$[*]' COLUMNS (n FOR ORDINALITY, d DATETIME(2) PATH '$')) AS t WHERE n = 1",
    '2025-12-31T22:30:00.25',
  ],
  sqlite: SQLITE_LIST,
  libsql: SQLITE_LIST,
  duckdb: ['SELECT $1::TIMESTAMP[] AS list', ['2025-12-31T22:30:00.25', null]],
  clickhouse: ["SELECT {p1:Array(DateTime64(6,'UTC'))} AS list", ['2025-12-31T22:30:00.250000Z', null]],
};

/** Types of a column with a zone, where there is one, and of one without. */
const COLUMNS: Readonly<Record<string, readonly [zoned: string, local: string]>> = {
  postgresql: ['timestamptz', 'timestamp'],
  mysql: ['timestamp null', 'datetime'],
  sqlite: ['datetime', 'datetime'],
  libsql: ['datetime', 'datetime'],
  duckdb: ['timestamptz', 'timestamp'],
  clickhouse: ["DateTime64(3, 'UTC')", "DateTime('UTC')"],
};
function eventsOf(kind: string): string[] {
  const [zoned, local] = COLUMNS[kind] ?? [];
  const utc = kind === 'mysql' ? ["set time_zone = '+00:00'"] : [];
  const zone = kind === 'duckdb' || kind === 'postgresql' ? '+00' : '';
  const row = (id: number, time: string) => `(${id}, '2005-06-01 ${time}${zone}', '2005-06-01 ${time}')`;
  return [
    ...utc,
    `create table events (id int, seen ${zoned}, wall ${local})${kind === 'clickhouse' ? ' engine = Memory' : ''}`,
    `insert into events values ${row(1, '00:00:00')}, ${row(2, '10:00:00')}`,
  ];
}

describe.each(EVERY_ENGINE)('a datetime on $kind', ({ kind, up, open }) => {
  let engine: OpenEngine;
  beforeAll(async () => {
    if (!up) return;
    engine = await open([...(kind === 'postgresql' ? ['create domain stamped as timestamp'] : []), ...eventsOf(kind)]);
  }, 60_000);
  afterAll(() => engine?.close());

  test.skipIf(!up)('with an offset is the same moment in every type', async () => {
    for (const mode of [FIXED, READ]) {
      for (const value of SAME) {
        for (const [expression, back] of CASTS[kind] ?? []) {
          const { rows } = await engine.source.query(sql(`SELECT ${expression} AS back`, [value], ['datetime']), mode);
          expect([value, expression, rows]).toEqual([value, expression, [{ back }]]);
        }
      }
    }
  });

  test.skipIf(!up)('is taken as people and models send it, by columns with and without a zone', async () => {
    const at_ten = ['2005-06-01 10:00', '2005-06-01 10:00:00', '2005-06-01T10:00:00', '2005-06-01T10:00:00z'];
    const elsewhere = ['2005-06-01T12:00:00+0200', '2005-06-01 12:00:00 +02:00', '2005-06-01 12:00+02', '2005-06-01 10:00:00 Z'];
    const is_text = kind === 'sqlite' || kind === 'libsql';
    const since = [{ name: 'since', type: 'datetime', description: 'since', required: true }] as const;
    for (const column of ['seen', 'wall']) {
      const condition = is_text ? `datetime(${column}) >= datetime(:since)` : `${column} >= :since`;
      const tool = await toolOn(engine, `select id from events where ${condition} order by id`, since);
      for (const value of [...at_ten, ...elsewhere])
        expect([value, await tool.call({ since: value })]).toMatchObject([value, { rows: [{ id: 2 }] }]);
      expect(await tool.call({ since: '2005-06-01' })).toMatchObject({ rows: [{ id: 1 }, { id: 2 }] });
      expect(await tool.call({ since: '2005-06-02' })).toMatchObject({ rows: [] });
      const plain = await toolOn(engine, `select id from events where ${column} >= :since order by id`, since);
      expect(await plain.call({ since: '2005-06-01 10:00' })).toMatchObject({ rows: [{ id: 2 }] });
      expect(await plain.call({ since: '2005-06-01' })).toMatchObject({ rows: [{ id: 1 }, { id: 2 }] });
    }
  });

  test.skipIf(!up)('with an offset is the same moment in a list', async () => {
    const [text, back] = LISTS[kind] ?? ['', null];
    // Nothing may be missing in a list of ClickHouse.
    const rest = kind === 'clickhouse' ? [] : [null];
    const expected = Array.isArray(back) ? [back[0], ...rest] : back;
    for (const value of SAME) {
      const { rows } = await engine.source.query(sql(text, [[value, ...rest]], [{ array: 'datetime' }]), READ);
      expect([value, rows]).toEqual([value, [{ list: expected }]]);
    }
  });

  test.skipIf(!up)('beyond the years 1 to 9999 in the zone of the database is refused', async () => {
    const [[expression] = ['']] = CASTS[kind] ?? [];
    for (const value of ['0001-01-01T00:00:00+02:00', '9999-12-31T23:59:59-02:00']) {
      const error = await engine.source.query(sql(`SELECT ${expression} AS back`, [value], ['datetime']), READ).then(
        ({ rows }) => rows,
        (fault: unknown) => fault,
      );
      // SQLite keeps the text as it is, and has no such moment.
      if (kind === 'sqlite' || kind === 'libsql') expect(error).toBeArray();
      else expect(error).toMatchObject({ code: 'sql_error', detail: expect.stringMatching(/year/) });
    }
  });
});

describe.skipIf(!reachable.mysql)('a datetime in a session of another zone', () => {
  let database: TestDatabase;
  let source: Source;
  beforeAll(async () => {
    database = await testDatabase('mysql');
    await database.run('CREATE TABLE seen (id INT, stamp TIMESTAMP NULL, clock DATETIME)');
    await database.run("SET time_zone = '+02:00'");
    await database.run("INSERT INTO seen VALUES (1, '2026-01-01 00:30:00', '2026-01-01 00:30:00')");
    source = openMysql({ ...database.settings, extra_params: { time_zone: '+02:00' } }, localPolicy);
  });
  afterAll(async () => {
    await source?.close();
    await database?.drop();
  });

  test('is converted to it with an offset, and meant in it without', async () => {
    const moments = [
      '2025-12-31T22:30:00Z',
      '2025-12-31t22:30:00z',
      '2026-01-01T00:30:00+0200',
      '2026-01-01T00:30:00',
      '2026-01-01T00:30',
    ];
    for (const value of moments) {
      const types: BoundType[] = ['datetime', 'datetime'];
      const { rows } = await source.query(
        sql('SELECT stamp, clock FROM seen WHERE stamp = ? AND clock = ?', [value, value], types),
        READ,
      );
      expect([value, rows]).toEqual([value, [{ stamp: '2026-01-01T00:30:00+02:00', clock: '2026-01-01T00:30:00' }]]);
    }
    const none = await source.query(sql('SELECT id FROM seen WHERE stamp = ?', [NEXT], ['datetime']), READ);
    expect(none.rows).toEqual([]);
  });
});

test('what is no date and time stays as it is', () => {
  for (const text of ['infinity', '2026-01-32', '', '2026-13-01T00:00:00Z', '0044-03-15T00:00:00 BC', '12:00:00+02:00']) {
    expect([text, parseDatetime(text), utcDatetime(text)]).toEqual([text, null, text]);
  }
});
