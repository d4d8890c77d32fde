import { expect, test } from 'bun:test';
import { toCsv } from '#core/lib/csv.ts';

test('no cell runs as a formula in a spreadsheet, and numbers stay numbers', () => {
  const cells = ['=1+1', '+cmd', '-2+3', '@SUM(A1)', '\tx', '\rx', '-12.50', '+1', -2, '1e-9', 'a=b', null, ''];
  expect(toCsv(['=head'], [cells])).toBe(`'=head\r\n'=1+1,'+cmd,'-2+3,'@SUM(A1),'\tx,"'\rx",-12.50,+1,-2,1e-9,a=b,,""\r\n`);
});
