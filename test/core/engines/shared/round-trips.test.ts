import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ScalarType } from '#core/contract/definitions/parameters.ts';
import type { Json } from '#core/lib/sql/result.ts';
import { utcDatetime } from '#core/lib/text/datetimes.ts';
import { textOf } from '#core/engines/shared/rows.ts';
import { AppError } from '#core/errors.ts';
import { parseJson } from '#core/lib/exact-json.ts';
import { fc } from '#test/support/chance.ts';
import { EVERY_ENGINE, type OpenEngine } from './every-engine.ts';
import { type CallableTool, toolOn } from './tool-call.ts';

const text = fc.string({ unit: 'binary', maxLength: 20 }).filter((value) => !value.includes('\0') && value.isWellFormed());
const whole = fc
  .bigInt(-(2n ** 63n), 2n ** 64n - 1n)
  .map((value) => (Number.isSafeInteger(Number(value)) ? Number(value) : String(value)));
const moments = fc
  .date({ min: new Date('0001-01-02T00:00:00Z'), max: new Date('9999-12-30T00:00:00Z'), noInvalidDate: true })
  .map((date) => date.toISOString());
const day = moments.map((moment) => moment.slice(0, 10));

/** Values of each type, those at its edges more often than chance has it. */
const VALUES: Readonly<Record<ScalarType, fc.Arbitrary<Json>>> = {
  string: fc.oneof(fc.constantFrom('', ' ', "it's", '\\', '"', 'NULL', '0', '{}', '😀', 'a\nb\t', '\u0001'), text),
  integer: fc.oneof(
    fc.constantFrom<Json>(
      0,
      -1,
      2 ** 31,
      2 ** 53 - 1,
      '9007199254740992',
      '9223372036854775807',
      '-9223372036854775808',
      '9223372036854775808',
      '18446744073709551615',
    ),
    whole,
  ),
  number: fc.oneof(
    fc.constantFrom<Json>(
      0,
      -0,
      0.1,
      1e300,
      5e-324,
      1e21,
      -1.5,
      123456789012345680,
      '0.12345678901234567890123',
      '9007199254740993',
      '0.25',
      '1' + '0'.repeat(40),
    ),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  ),
  boolean: fc.boolean(),
  date: fc.oneof(fc.constantFrom('2024-02-29', '1000-01-01', '0001-01-01', '9999-12-31', '1899-12-31'), day),
  datetime: fc.oneof(
    fc.constantFrom(
      '2026-01-01T00:00:00+02:00',
      '2026-01-01t00:00z',
      '2026-01-01T00:00:00.123456789Z',
      '2026-01-01T23:59:59.999999-0930',
      '2026-01-01T00:00:00',
      '1970-01-01T00:00:00Z',
    ),
    moments,
  ),
  uuid: fc.oneof(
    fc.uuid(),
    fc.uuid().map((id) => id.toUpperCase()),
  ),
  bytes: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('base64')),
  json: fc.oneof(
    fc.constantFrom<Json>({}, [], '', 'a', 0, false, { a: { b: [null, 1.5, 'ü'] } }),
    fc
      .jsonValue({ maxDepth: 2, stringUnit: 'grapheme' })
      .filter((value) => !JSON.stringify(value).includes('\\u0000'))
      .map((value) => JSON.parse(JSON.stringify(value)) as Json),
  ),
};
const LISTS = Object.fromEntries(
  ScalarType.options.map((type) => [type, fc.array(VALUES[type], { maxLength: 4 })]),
) as unknown as Readonly<Record<ScalarType, fc.Arbitrary<Json>>>;

/** Whether a value is what was sent, however the database writes one that it has as text or as another number. */
function isSame(type: ScalarType, sent: Json, back: Json): boolean {
  if (typeof back === 'string' && typeof sent === 'boolean') return back === String(sent) || back === String(Number(sent));
  if (typeof sent === 'boolean') return Number(back) === Number(sent);
  if (type === 'integer') return BigInt(textOf(back)) === BigInt(textOf(sent));
  if (type === 'number') return back !== null && Number(back) === Number(sent);
  if (type === 'datetime') return isSameMoment(textOf(back), textOf(sent));
  if (type === 'uuid') return textOf(back).toLowerCase() === textOf(sent).toLowerCase();
  if (type !== 'json') return back === sent;
  // Numbers that a double would change come as text.
  const kept = parseJson(JSON.stringify(sent));
  if (Bun.deepEquals(back, kept) || Bun.deepEquals(inNumbers(back), sent)) return true;
  return typeof back === 'string' && Bun.deepEquals(parseJson(back), kept);
}

/** A database that calculates with decimals writes whole numbers in digits, which are text here from sixteen on. */
function inNumbers(value: Json): Json {
  if (typeof value === 'string') return /^-?\d{16,}$/.test(value) ? Number(value) : value;
  if (Array.isArray(value)) return value.map(inNumbers);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inNumbers(item)]));
}

/** Microseconds since 1970; without a zone in UTC. */
function momentOf(value: string): bigint {
  const iso = value.replace(' ', 'T').replace(/\+00$/, 'Z');
  const [, moment = '', fraction = ''] = /^(.*?)(?:\.(\d+))?Z?$/.exec(utcDatetime(iso)) ?? [];
  return BigInt(Date.parse(`${moment}Z`)) * 1_000n + BigInt(Math.round(Number(`0.${fraction || '0'}`) * 1e6));
}

/** Some databases round what is finer than a microsecond, some cut it. */
function isSameMoment(one: string, other: string): boolean {
  const apart = momentOf(one) - momentOf(other);
  return apart >= -1n && apart <= 1n;
}

describe.each(EVERY_ENGINE)('parameters on $kind', ({ kind, up, open }) => {
  let engine: OpenEngine;
  const tools = new Map<string, CallableTool>();
  beforeAll(async () => {
    if (up) engine = await open([]);
  }, 60_000);
  afterAll(() => engine?.close());

  for (const type of ScalarType.options) {
    test.skipIf(!up)(`a ${type}, or none, comes back as it was sent and fits the output schema`, async () => {
      const declared = [{ name: 'x', type, required: false }];
      // Its strings are bytes as well, and are shown as text.
      const sql = type === 'bytes' && kind === 'clickhouse' ? 'select base64Encode(:x) as y' : 'select :x as y';
      for (const [return_type, member] of [
        ['value', 'value'],
        ['column', 'values'],
        ['rows', 'rows'],
      ] as const) {
        tools.set(return_type, await toolOn(engine, sql, declared, { return_type }));
        for (const args of [{}, { x: null }]) {
          const expected = { value: null, values: [null], rows: [{ y: null }] }[member];
          expect((await tools.get(return_type)!.call(args))[member]).toEqual(expected);
        }
      }
      await fc.assert(
        fc.asyncProperty(VALUES[type], fc.constantFrom('value', 'rows'), async (x, return_type) => {
          const found = await answerOf(tools.get(return_type)!.call({ x }));
          if (found === null) return;
          const back = return_type === 'value' ? found['value'] : (found['rows'] as { y: Json }[])[0]?.y;
          if (!isSame(type, x, back ?? null)) throw new Error(`${JSON.stringify(x)} came back as ${JSON.stringify(back)}`);
        }),
        { numRuns: 40 },
      );
    });

    // A list of bytes is refused when a tool is saved.
    if (type === 'bytes') continue;
    test.skipIf(!up)(`a list of ${type} fits the output schema`, async () => {
      const tool = await toolOn(engine, 'select :x as y', [{ name: 'x', type: 'array', items: type, required: false }], {
        return_type: 'value',
      });
      await fc.assert(
        fc.asyncProperty(fc.option(LISTS[type], { freq: 10 }), async (x) => {
          const found = await answerOf(tool.call(x === null ? {} : { x }));
          if (found === null) return;
          const back = found['value'] ?? null;
          const items = typeof back === 'string' ? parseJson(back) : back;
          if (!Array.isArray(x) || !Array.isArray(items)) return;
          if (items.length !== x.length || !items.every((item: Json, i) => isSame(type, x[i], item))) {
            throw new Error(`${JSON.stringify(x)} came back as ${JSON.stringify(back)}`);
          }
        }),
        { numRuns: 30 },
      );
    });
  }

  test.skipIf(!up)('what is calculated from one fits the output schema', async () => {
    for (const [type, values] of Object.entries(CALCULATED_FROM)) {
      for (const expression of [...OF_ANY, ...(type === 'string' ? OF_TEXT : OF_NUMBERS)]) {
        const declared = [{ name: 'x', type: ScalarType.options.find((known) => known === type)!, required: false }];
        const text = `select ${expression} as y`;
        const tool = await toolOn(engine, text, declared, { return_type: 'value' }).catch(refused);
        for (const x of values) await tool?.call(x === null ? {} : { x }).catch(refused);
      }
    }
  });

  /** Null: the value is refused with a sentence, as too large or too exact for this database. */
  async function answerOf(work: Promise<Readonly<Record<string, Json>>>): Promise<Readonly<Record<string, Json>> | null> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof AppError && error.code === 'sql_error' && (REFUSES[kind] ?? /^$/).test(error.detail)) return null;
      throw error;
    }
  }
});

/** Not every database calculates everything. */
function refused(error: unknown): null {
  if (error instanceof AppError) return null;
  throw error;
}

const CALCULATED_FROM: Readonly<Record<string, readonly Json[]>> = {
  string: ['a', '5', null],
  integer: [5, -7, '9223372036854775807', null],
  number: [5, 1.5, '0.25', '0.12345678901234567890123', null],
  boolean: [true, false, null],
};
const OF_ANY = [
  'coalesce(:x, :x)',
  'case when 1 = 1 then :x end',
  '(select :x)',
  'max(:x)',
  "coalesce(:x, 'a')",
  'case when :x is null then 0 else :x end',
  ':x is null',
  'count(:x)',
];
const OF_TEXT = ['upper(:x)', "concat(:x, 'b')", 'length(:x)'];
const OF_NUMBERS = [
  ':x + 1',
  '-:x',
  'coalesce(:x, 0)',
  'coalesce(:x, 0.5)',
  'abs(:x)',
  'round(:x, 2)',
  'sum(:x)',
  'avg(:x)',
  ':x * 1.5',
  ':x / 2',
  'greatest(:x, 1)',
  ':x > 1',
  'cast(:x as decimal(10, 2))',
];

/** What a database has no values for. */
const REFUSES: Readonly<Record<string, RegExp>> = {
  postgresql: /is out of range for type bigint/,
  sqlite: /does not fit into SQLite|more digits than a double keeps/,
  libsql: /does not fit into SQLite|more digits than a double keeps/,
  duckdb: /more digits than a double keeps/,
  clickhouse: /more digits than a double keeps|does not fit a parameter of type integer|has dates from 1900 to 2299/,
};
