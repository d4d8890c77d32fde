import { describe, expect, test } from 'bun:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { read, utils } from '@e965/xlsx';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import { type RowFileFormat, rowFileOf } from '#core/query/files/formats.ts';
import type { Column, Row } from '#core/lib/sql/result.ts';
import { refusal, sql } from '#test/core/engines/shared/suite.ts';
import { localPolicy, reachable, testDatabase } from '#test/support/databases.ts';

const column = (name: string, kind: Column['kind'], type: string = kind): Column => ({ name, type, kind });

/** The bytes of a file whose rows arrive in parts. */
async function fileOf(format: RowFileFormat, columns: readonly Column[], rows: readonly Row[], part = 250): Promise<Buffer> {
  const file = (await rowFileOf(format))(columns);
  const written: Uint8Array[] = [];
  for (let from = 0; from < rows.length; from += part) written.push(file.write(rows.slice(from, from + part)));
  return Buffer.concat([...written, file.end()]);
}

const COLUMNS = [
  column('id', 'integer', 'int4'),
  column('big', 'bigint', 'int8'),
  column('price', 'string', 'numeric(10,2)'),
  column('text', 'string', 'text'),
  column('ok', 'boolean'),
  column('bytes', 'bytes'),
  column('json', 'json'),
  column('float', 'number'),
];
const TEXTS = [null, '', '=1+1', '+49 30', '@x', ' a "b",\r\n<c> & ä 😀 ', 'bell \u0007 _x0041_', '-5', '007'];
const ROWS: Row[] = Array.from({ length: 4_700 }, (_, id) => ({
  id,
  big: id % 2 === 0 ? '9007199254740993' : -id,
  price: `${id}.50`,
  text: TEXTS[id % TEXTS.length] ?? null,
  ok: id % 3 === 0 ? null : id % 2 === 0,
  bytes: 'AP8=',
  json: { a: [1, 'x'] },
  float: id / 3,
}));

describe('a Parquet file', () => {
  async function inDuckdb(bytes: Uint8Array, query: string) {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-parquet-'));
    const path = join(folder, 'rows.parquet');
    writeFileSync(path, bytes);
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    try {
      return (await connection.runAndReadAll(query.replace('FILE', `'${path}'`))).getRowObjects();
    } finally {
      connection.closeSync();
      instance.closeSync();
      rmSync(folder, { recursive: true });
    }
  }

  test('has typed columns, and DuckDB reads every value back', async () => {
    const bytes = await fileOf('parquet', COLUMNS, ROWS);
    const types = await inDuckdb(bytes, 'describe select * from FILE');
    expect(types.map(({ column_name, column_type }) => `${String(column_name)} ${String(column_type)}`)).toEqual([
      'id BIGINT',
      'big BIGINT',
      'price VARCHAR',
      'text VARCHAR',
      'ok BOOLEAN',
      'bytes BLOB',
      'json VARCHAR',
      'float DOUBLE',
    ]);
    const rows = await inDuckdb(bytes, 'select id, big, price, text, ok, hex(bytes) as bytes, json, float from FILE order by id');
    expect(rows).toHaveLength(ROWS.length);
    expect(
      rows.map((row) => [row['id'], row['big'], row['price'], row['text'], row['ok'], row['bytes'], row['json'], row['float']]),
    ).toEqual(
      ROWS.map(({ id, big, price, text, ok, json, float }) => [
        BigInt(Number(id)),
        BigInt(big as string | number),
        price,
        text,
        ok,
        '00FF',
        JSON.stringify(json),
        float,
      ]) as never,
    );
  });

  test('stores a column as text whose first values do not fit its type, and refuses such a value later', async () => {
    const columns = [column('seen', 'bigint', 'date')];
    const bytes = await fileOf('parquet', columns, [{ seen: 1 }, { seen: '2026-01-02' }, { seen: null }]);
    expect(await inDuckdb(bytes, 'select * from FILE')).toEqual([{ seen: '1' }, { seen: '2026-01-02' }, { seen: null }]);
    const late = [...Array.from({ length: 3_000 }, () => ({ seen: 1 })), { seen: 'x' }];
    expect(await refusal(fileOf('parquet', columns, late))).toMatchObject({ code: 'too_large' });
    expect(await inDuckdb(await fileOf('parquet', columns, []), 'select count(*)::int as n from FILE')).toEqual([{ n: 0 }]);
  });
});

describe('an XLSX file', () => {
  const sheetOf = (bytes: Buffer) => {
    const { Sheets, SheetNames } = read(bytes, { cellFormula: true });
    return Sheets[SheetNames[0] ?? ''] ?? {};
  };

  test('is read by a spreadsheet library with the same values, and has no formulas', async () => {
    const sheet = sheetOf(await fileOf('xlsx', COLUMNS, ROWS));
    const read_back = utils.sheet_to_json<Record<string, unknown>>(sheet, { defval: null, raw: true });
    expect(read_back).toHaveLength(ROWS.length);
    // The library gives CR LF, which the file has, as LF.
    const lines = (text: unknown) => (typeof text === 'string' ? text.replaceAll('\r\n', '\n') : text);
    expect(read_back.map((row) => ({ ...row }))).toEqual(
      ROWS.map((row) => ({ ...row, price: Number(row['price']), text: lines(row['text']), json: JSON.stringify(row['json']) })),
    );
    expect(Object.values(sheet).filter((cell) => typeof cell === 'object' && cell !== null && 'f' in cell)).toEqual([]);
    expect((sheet['D4'] as { t: string; v: string }).t).toBe('s');
  });

  test('refuses what a spreadsheet would cut or round', async () => {
    const columns = [column('text', 'string'), column('big', 'bigint')];
    const sheet = sheetOf(await fileOf('xlsx', columns, [{ text: 'x'.repeat(32_767), big: 1_234_567_890_123_456 }]));
    expect((sheet['A2'] as { v: string }).v).toHaveLength(32_767);
    expect(sheet['B2']).toMatchObject({ t: 's', v: '1234567890123456' });
    const long = await refusal(fileOf('xlsx', columns, [{ text: 'x'.repeat(32_768), big: 1 }]));
    expect(long).toMatchObject({ code: 'too_large', detail: expect.stringContaining('in the column text') });
    const file = (await rowFileOf('xlsx'))([column('n', 'integer')]);
    const part = Array.from({ length: 65_536 }, () => ({ n: 1 }));
    for (let n = 0; n < 15; n++) file.write(part);
    file.write(part.slice(1));
    expect(() => file.write([{ n: 1 }])).toThrow('more than 1048576 rows');
  });
});

describe('a CSV file', () => {
  test.skipIf(!reachable.postgres || Bun.which('psql') === null)('is that of COPY where values have one form', async () => {
    const database = await testDatabase('postgresql');
    const text = `select n as id, n * 10000000000::int8 as big, (n / 4.0)::numeric(10,2) as price, case n % 4 when 0 then null when 1 then '' when 2 then 'a"b, c' else E'ä\\nb' end as text,
      date '2026-01-01' + n as day from generate_series(-3, 20) n order by n`;
    const { host, port, username, database: name } = database.settings;
    const psql = Bun.spawn(
      [
        'psql',
        '-h',
        String(host),
        '-p',
        String(port),
        '-U',
        String(username),
        '-d',
        name,
        '-c',
        `copy (${text}) to stdout csv header`,
      ],
      { stdout: 'pipe', env: { ...process.env, PGPASSWORD: database.settings.password ?? '' } },
    );
    const copied = await new Response(psql.stdout).text();
    const source = openPostgres(database.settings, localPolicy);
    let columns: readonly Column[] = [];
    const rows: Row[] = [];
    await source.stream(
      sql(text),
      { timeout_ms: 10_000, signal: undefined },
      {
        begin: (described) => void (columns = described),
        rows: async (part) => void rows.push(...part),
      },
    );
    await source.close();
    await database.drop();
    // Lines end with CR LF here, as RFC 4180 says.
    expect((await fileOf('csv', columns, rows)).toString().replaceAll('\r\n', '\n')).toBe(copied);
    expect(copied.split('\n').length).toBeGreaterThan(25);
  });
});
