import { describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { fc } from '#test/support/chance.ts';
import { rowsOf } from '#core/store/columns.ts';
import { storeOf } from '#test/support/stores.ts';

const text = fc.option(
  fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 20 }).map((some) => some.replaceAll('\0', '')),
    fc.constantFrom('', ' ', ' x ', 'null', '{a,"b"}', String.raw`a\"b\\`, 'ü€🎈', "'"),
  ),
);
const row = fc.record({
  whole: fc.oneof(fc.maxSafeNat(), fc.nat(20)),
  real: fc.oneof(fc.double({ min: 1e-6, max: 1e15, noNaN: true }), fc.constant(0)),
  rounded: fc.nat(10 ** 12).map((thousandths) => thousandths / 1_000),
  at: fc.oneof(fc.integer({ min: 0, max: 253_402_300_799_999 }), fc.nat(3_000)),
  words: text,
  place: fc.nat(4),
});
const lists = fc.array(fc.record({ name: text, size: fc.maxSafeNat() }), { minLength: 5, maxLength: 5 });

/** The number that was meant, when it differs in the sixteenth digit at most: SQLite reads text no more exactly. */
const nearly = (got: number, meant = 0): number => (Math.abs(got - meant) <= meant * 1e-15 ? meant : got);

describe.each(['sqlite', 'postgresql'] as const)('rows given as columns to %s', (dialect) => {
  const made = storeOf(dialect);

  test.skipIf(!made.can)('are the rows that were meant, in their order', async () => {
    const check = async (
      rows: (typeof row extends fc.Arbitrary<infer R> ? R : never)[],
      shared: { name: string | null; size: number }[],
    ) => {
      const given = rowsOf(
        dialect,
        'given',
        {
          whole: { type: 'integer', cells: rows.map(({ whole }) => whole) },
          real: { type: 'real', cells: rows.map(({ real }) => real) },
          rounded: { type: 'thousandths', cells: rows.map(({ rounded }) => rounded) },
          at: { type: 'time', cells: rows.map(({ at }) => at) },
          words: { type: 'text', cells: rows.map(({ words }) => words) },
        },
        {
          places: rows.map(({ place }) => place),
          columns: {
            name: { type: 'text', cells: shared.map(({ name }) => name) },
            size: { type: 'integer', cells: shared.map(({ size }) => size) },
          },
        },
      );
      const columns = ['whole', 'real', 'rounded', 'at', 'words', 'name', 'size', 'place'] as const;
      const read = Object.fromEntries(columns.map((column) => [column, sql.raw(column)]));
      const found = await made.store.db
        .select(read)
        .from(sql`(with recursive ${given} select * from given) as found order by place`);
      const shown = found.map((one, n) => ({
        ...one,
        real: nearly(Number(one['real']), rows[n]?.real),
        whole: Number(one['whole']),
        size: Number(one['size']),
        place: Number(one['place']),
      }));
      expect(shown).toEqual(
        rows.map(({ at, place, ...own }, n) => ({
          ...own,
          at: new Date(at).toISOString(),
          name: shared[place]?.name ?? null,
          size: shared[place]?.size ?? 0,
          place: n,
        })),
      );
    };
    await fc.assert(fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 40 }), lists, check), { numRuns: 60 });
  });
});
