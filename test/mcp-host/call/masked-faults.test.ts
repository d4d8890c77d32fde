import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Source } from '#core/engines/shared/source.ts';
import { maskedDetail } from '#core/query/masked-errors.ts';
import { createDuckdbFolder } from '#test/core/engines/duckdb/fixture.ts';
import { READ, refusal, sql } from '#test/core/engines/shared/suite.ts';

const HIDDEN = 'hidden-value-5b1e';
const files = createDuckdbFolder();
let source: Source;

beforeAll(async () => {
  await files.create('people.duckdb', `create table people as select '${HIDDEN}' as email`);
  source = files.open('people.duckdb');
});
afterAll(() => files.remove());

const told = async (text: string): Promise<string> => {
  const error = await refusal(source.query(sql(text), READ));
  const masks = [{ columns: ['email'], mask: 'text' as const, unless_groups: [] }];
  return maskedDetail(error, { masks });
};

test('faults that quote a masked column of DuckDB are hidden, and faults of the statement are shown', async () => {
  for (const of of ['email::int', 'cast(email as date)', "strptime(email, '%Y')", 'email::timestamp', 'error(email)']) {
    expect([of, await told(`select ${of} as x, email from people`)]).toEqual([
      of,
      'The database reported an error. Its message can contain masked values, so it is not shown.',
    ]);
  }
  expect(await told('select nix from people')).toContain('"nix" not found');
  expect(await told('select * from nowhere')).toContain('nowhere does not exist');
  expect(await told('select email form people')).toContain('syntax error');
});
