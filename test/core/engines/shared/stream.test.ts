import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { AppError } from '#core/errors.ts';
import { Stop } from '#core/engines/shared/stop.ts';
import type { Column, Json, Row } from '#core/lib/sql/result.ts';
import { until } from '#test/support/until.ts';
import { EVERY_ENGINE, type OpenEngine } from './every-engine.ts';
import { READ, refusal, sql } from './suite.ts';

const OPTIONS = { timeout_ms: 60_000, signal: undefined };
const ROWS = 12_345;

/** Rows n and word from 1 on, without a table. */
const NUMBERS: Readonly<Record<string, string>> = {
  postgresql: `select n::int as n, 'w' || n as word from generate_series(1, ${ROWS}) n`,
  mysql: `select n, concat('w', n) as word from (select 1 + ${['a', 'b', 'c', 'd', 'e'].map((name, power) => `${name}.i * ${10 ** power}`).join(' + ')} as n
    from ${['a', 'b', 'c', 'd', 'e'].map((name) => `(${Array.from({ length: 10 }, (_, i) => `select ${i} as i`).join(' union all ')}) ${name}`).join(', ')}) all_numbers where n <= ${ROWS} order by n`,
  sqlite: `with recursive r(n) as (select 1 union all select n + 1 from r where n < ${ROWS}) select n, 'w' || n as word from r`,
  libsql: `with recursive r(n) as (select 1 union all select n + 1 from r where n < ${ROWS}) select n, 'w' || n as word from r`,
  duckdb: `select range::int as n, 'w' || range as word from range(1, ${ROWS + 1}) order by n`,
  clickhouse: `select toInt32(number + 1) as n, concat('w', toString(number + 1)) as word from numbers(${ROWS})`,
};

/** The smallest integer has no absolute value. */
const LATE_OVERFLOW = `with recursive r(n) as (select 1 union all select n + 1 from r where n < ${ROWS}) select abs(case n when 10000 then -9223372036854775807 - 1 else n end) as n from r`;

/** Statements that fail at a late row, of the databases for which one is known here. */
const FAULTS: Readonly<Record<string, string>> = {
  sqlite: LATE_OVERFLOW,
  libsql: LATE_OVERFLOW,
  postgresql: `select 1 / (10000 - n) as n from generate_series(1, ${ROWS}) n`,
};

function collector() {
  const parts: (readonly Row[])[] = [];
  const begun: (readonly Column[])[] = [];
  return {
    parts,
    begun,
    rows: async (part: readonly Row[]) => void parts.push(part),
    begin: (columns: readonly Column[]) => void begun.push(columns),
  };
}

for (const { kind, up, open } of EVERY_ENGINE) {
  describe.skipIf(!up)(kind, () => {
    let engine: OpenEngine;
    beforeAll(async () => {
      engine = await open([]);
    });
    afterAll(() => engine.close());
    const numbers = sql(NUMBERS[kind] ?? '');

    test('a stream hands over all rows of a result in parts, with the columns of a query', async () => {
      const to = collector();
      await engine.source.stream(numbers, OPTIONS, to);
      const { columns, rows } = await engine.source.query(numbers, { ...READ, max_rows: ROWS + 1, max_bytes: 1e9 });
      expect(to.begun).toEqual([columns]);
      expect(to.parts.length).toBeGreaterThan(2);
      expect(to.parts.flat()).toEqual(rows);
      expect(rows).toHaveLength(ROWS);
    });

    test('a stream waits for its receiver, and ends in the database when the receiver fails', async () => {
      let taken = 0;
      const gate = Promise.withResolvers<void>();
      const streamed = engine.source.stream(numbers, OPTIONS, {
        begin: () => undefined,
        rows: async (part) => {
          taken += part.length;
          await gate.promise;
        },
      });
      await until(() => taken > 0);
      const first = taken;
      expect(first).toBeLessThan(ROWS / 2);
      gate.reject(new AppError('too_large', 'Enough.'));
      expect(await refusal(streamed)).toMatchObject({ code: 'too_large', detail: 'Enough.' });
      expect(taken).toBe(first);
      expect((await engine.source.query(numbers, { ...READ, max_rows: 2 })).rows).toHaveLength(2);
    });

    test('a stream ends with the reason of its signal while its receiver waits', async () => {
      const stop = new Stop();
      const streamed = engine.source.stream(
        numbers,
        { ...OPTIONS, signal: stop },
        {
          begin: () => undefined,
          rows: () => new Promise((_, reject) => stop.addEventListener('abort', () => reject(stop.reason))),
        },
      );
      setTimeout(() => stop.abort(new AppError('cancelled', 'Gone.')), 50);
      expect((await refusal(streamed)).code).toBe('cancelled');
      expect((await engine.source.query(numbers, { ...READ, max_rows: 2 })).rows).toHaveLength(2);
    });

    const fault = FAULTS[kind];
    if (fault !== undefined)
      test('a statement that fails at a late row rejects after its first rows', async () => {
        const to = collector();
        const { code } = await refusal(engine.source.stream(sql(fault), OPTIONS, to));
        expect(code).toBe('sql_error');
        expect(to.parts.flat().length).toBeGreaterThan(0);
      });

    test('an empty result begins and has no parts, and a statement that writes is refused', async () => {
      const to = collector();
      await engine.source.stream(sql('select 1 as one where 1 = 0'), OPTIONS, to);
      expect([to.begun.map((columns) => columns.map(({ name }) => name)), to.parts.flat() as Json]).toEqual([[['one']], []]);
      const writing = await refusal(engine.source.stream(sql('create table written (n int)'), OPTIONS, to));
      expect(['not_read_only', 'sql_error']).toContain(writing.code);
    });
  });
}
