import { afterAll, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { decodingOf } from '#core/engines/duckdb/files/encoding.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { READ, sql } from '../shared/suite.ts';
import { children, createDuckdbFolder } from './fixture.ts';

const files = createDuckdbFolder();

afterAll(async () => {
  await files.remove();
  expect(children()).toEqual([]);
});

const rows = async (source: Source, text: string) => (await source.query(sql(text), READ)).rows;

const TEXT = 'id;city\n1;Köln\n2;Łódź\n';
const little = (text: string) => Buffer.from(text, 'utf16le');
const big = (text: string) => little(text).swap16();
/** Windows-1252: the euro sign and the quotation marks are no part of Latin-1. */
const windows = Buffer.concat([
  Buffer.from('id,price\n1,5 '),
  Buffer.of(0x80, 0x0a),
  Buffer.from('2,'),
  Buffer.of(0x93, 0xfc, 0x94, 0x0a),
]);
const PRICES = [
  { id: 1, price: '5 €' },
  { id: 2, price: '“ü”' },
];
const NOTE = 'The file is not UTF-8 and was read as Latin-1.';

test('text files are read in the encodings of spreadsheets: UTF-16 in both orders, and Windows-1252', async () => {
  files.write('found/little.csv', little(`\ufeff${TEXT}`));
  files.write('found/big.csv', big(`\ufeff${TEXT}`));
  files.write('found/unmarked.csv', little(TEXT));
  files.write('found/packed.csv.gz', gzipSync(little(`\ufeff${TEXT}`)));
  files.write('found/windows.csv', windows);
  files.write('found/shell.json', little('\ufeff[{"id":1,"city":"Köln"}]'));
  const status = await files.status('found');
  expect(status.map(({ key, notes, error }) => [key, notes, error])).toEqual([
    ['big.csv', [], null],
    ['little.csv', [], null],
    ['packed.csv.gz', [], null],
    ['shell.json', [], null],
    ['unmarked.csv', [], null],
    ['windows.csv', [NOTE], null],
  ]);
  const source = files.open('found');
  for (const name of ['little', 'big', 'unmarked', 'packed']) {
    expect(await rows(source, `SELECT * FROM ${name}`)).toEqual([
      { id: 1, city: 'Köln' },
      { id: 2, city: 'Łódź' },
    ]);
  }
  expect(await rows(source, 'SELECT * FROM shell')).toEqual([{ id: 1, city: 'Köln' }]);
  expect(await rows(source, 'SELECT * FROM windows')).toEqual(PRICES);
  await source.close();
});

test('an encoding that is set counts more than the first bytes', () => {
  const beginning = little(`\ufeff${TEXT}`);
  const encodings = ['utf-8', 'latin-1', 'utf-16', undefined] as const;
  expect(encodings.map((selected) => decodingOf(beginning, selected))).toEqual(['utf-8', 'windows-1252', 'utf-16le', 'utf-16le']);
  expect(decodingOf(big(`\ufeff${TEXT}`), 'utf-16')).toBe('utf-16be');
});

test('an encoding that is set is used, for every file of a pattern, and the files keep their names', async () => {
  files.write('set/a-1.csv', windows);
  files.write('set/a-2.csv.gz', gzipSync(windows));
  files.write('set/b.csv', big(TEXT));
  files.write('set/c.csv', windows);
  const extra_params = {
    files: JSON.stringify({ 'a-*': { encoding: 'latin-1' }, 'b.csv': { encoding: 'utf-16' }, 'c.csv': { encoding: 'utf-8' } }),
  };
  const status = await files.status('set', extra_params);
  expect(status.map(({ key, error }) => [key, error])).toEqual([
    ['a-*', null],
    ['b.csv', null],
    ['c.csv', { message: 'The text is not UTF-8. Set the encoding of the file, or save it as UTF-8.', line: null }],
  ]);
  const source = files.open('set', { extra_params });
  expect(await rows(source, 'SELECT id, price, filename FROM a ORDER BY filename, id')).toEqual(
    ['a-1.csv', 'a-2.csv.gz'].flatMap((filename) => PRICES.map((row) => ({ ...row, filename }))),
  );
  expect(await rows(source, 'SELECT city FROM b')).toEqual([{ city: 'Köln' }, { city: 'Łódź' }]);
  await source.close();
});
