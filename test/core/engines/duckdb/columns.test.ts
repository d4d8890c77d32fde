import { afterAll, expect, test } from 'bun:test';
import type { FileSettings } from '#core/contract/definitions/file-settings.ts';
import { DUCKDB_FILES } from '#core/engines/duckdb/files/status.ts';
import { READ, sql } from '../shared/suite.ts';
import { createDuckdbFolder } from './fixture.ts';

const files = createDuckdbFolder();
afterAll(() => files.remove());

const TABLE = 'numbers.csv';

/** Reads one file. */
async function read(folder: string, content: string, settings: FileSettings = {}) {
  files.write(`${folder}/${TABLE}`, content);
  const extra_params = { files: JSON.stringify({ [TABLE]: settings }) };
  const source = files.open(folder, { extra_params });
  const { rows } = await source.query(sql('SELECT * FROM numbers'), READ);
  const { items } = await source.columns({ name: 'numbers' }, { skip: 0, limit: 100 });
  await source.close();
  const [file] = await files.status(folder, extra_params);
  const types = Object.fromEntries(items.map(({ name, type }) => [name, type]));
  return { rows, types, offers: file?.offers, error: file?.error };
}

const numbers = (column: string, ...thousands: string[]) => ({ column, kind: 'numbers', thousands });

test('numbers with thousands separators are text, and offered as numbers', async () => {
  const content = [
    'english;german;spaced;swiss;plain;code;phone',
    "1,234.50;1.234.567;1 234,5;1'234.50;12;1,234,x;030 1234",
    '-12.25;12;12;7;1,5;2;1 234 5',
    '',
  ].join('\n');
  const { rows, types, offers } = await read('noticed', content, { decimal: '.' });
  expect(rows[0]).toMatchObject({ english: '1,234.50', german: '1.234.567', spaced: '1 234,5', swiss: "1'234.50" });
  expect(offers).toEqual([
    numbers('english', ','),
    numbers('german', '.'),
    numbers('spaced', ' '),
    numbers('swiss', "'"),
    numbers('plain', '.'),
  ] as typeof offers);
  expect(new Set(Object.values(types))).toEqual(new Set(['VARCHAR']));
});

test('a chosen separator makes exact numbers of a column, and its sum has all decimals', async () => {
  const content =
    'id,amount,whole,wide\n1,"1,234.10",1.234,"123,456,789,012,345,678,901"\n2,"+0.20",5,1\n3,,,\n4," -1,000 ",1.000.000,2\n';
  const { rows, types, offers } = await read('chosen', content, { thousands: { amount: ',', whole: '.', wide: ',' } });
  expect(types).toEqual({ id: 'BIGINT', amount: 'DECIMAL(18,2)', whole: 'BIGINT', wide: 'DECIMAL(21,0)' });
  expect(rows).toEqual([
    { id: 1, amount: '1234.10', whole: 1234, wide: '123456789012345678901' },
    { id: 2, amount: '0.20', whole: 5, wide: '1' },
    { id: 3, amount: null, whole: null, wide: null },
    { id: 4, amount: '-1000.00', whole: 1_000_000, wide: '2' },
  ]);
  expect(offers).toEqual([]);
  const typed = await read('typed', content, { thousands: { amount: ',' }, types: { amount: 'DOUBLE' } });
  expect([typed.types['amount'], typed.rows[0]?.['amount']]).toEqual(['DOUBLE', 1234.1]);
});

test.each([
  ['a comma before three digits alone', 'n;m\n"1,234";x\n12;y\n', [',', '.']],
  ['the same between commas', 'n,m\n"1,234",x\n', [',', '.']],
  ['one with evidence', 'n;m\n1,234;x\n1,234,567;y\n', [',']],
  ['one with decimals', 'n,m\n"1,234",x\n12.5,y\n', [',']],
])('%s is a question, and stays text until it is answered', async (name, content, thousands) => {
  const folder = name.replaceAll(' ', '_');
  const found = await read(folder, content);
  expect([found.rows[0]?.['n'], found.types['n']]).toEqual(['1,234', 'VARCHAR']);
  expect(found.offers).toEqual([numbers('n', ...thousands)] as typeof found.offers);
  if (thousands.length === 1) return;
  expect((await read(`${folder}_1`, content, { thousands: { n: ',' } })).rows[0]?.['n']).toBe(1234);
  expect((await read(`${folder}_2`, content, { thousands: { n: '.' } })).rows[0]?.['n']).toBe('1.234');
  const text = await read(`${folder}_3`, content, { types: { n: 'VARCHAR' } });
  expect([text.rows[0]?.['n'], text.offers]).toEqual(['1,234', []]);
});

test('a value that is no such number keeps the last good table', async () => {
  const settings = { thousands: { n: ',' } } as const;
  await read('broken', 'n;m\n1,234;x\n', settings);
  files.write(`broken/${TABLE}`, 'n;m\n1,2,3;x\n');
  const extra_params = { files: JSON.stringify({ [TABLE]: settings }) };
  const { items } = await DUCKDB_FILES.status({ database: 'broken', extra_params }, files.policy);
  expect(items[0]?.error).toEqual({
    message: 'Column n has values that are not numbers with “,” between thousands. Change how it is read.',
    line: null,
  });
  expect(items[0]?.tables).toHaveLength(1);
});

test('columns without name and value go, and empty ones at the end are offered to be left out', async () => {
  const content = 'id,empty,name,notes,more,,\n1,,x,,,,\n2,,y,,,,\n';
  const found = await read('empty', content);
  expect(Object.keys(found.types)).toEqual(['id', 'empty', 'name', 'notes', 'more']);
  expect(found.offers).toEqual([
    { column: 'notes', kind: 'empty', thousands: [] },
    { column: 'more', kind: 'empty', thousands: [] },
  ]);
  const without = await read('empty_without', content, { leave_out: ['notes', 'more', 'empty', 'nowhere'] });
  expect([Object.keys(without.types), without.offers]).toEqual([['id', 'name'], []]);
  const kept = await read('empty_kept', content, { types: { notes: 'VARCHAR', more: 'VARCHAR' } });
  expect(kept.offers).toEqual([]);
  // A nameless column with a value stays, a table without rows says nothing, and no table loses its last column.
  expect(Object.keys((await read('nameless', 'id,,\n1,,x\n')).types)).toHaveLength(2);
  expect(Object.keys((await read('no_rows', 'id,name\n', { header: true })).types)).toEqual(['id', 'name']);
  expect(Object.keys((await read('only', 'a,b\n1,2\n', { leave_out: ['a', 'b'] })).types)).toEqual(['b']);
});
