import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { productFile } from '#core/process/product.ts';
import { openStore } from '#core/store/open.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';

interface Journal {
  readonly entries: readonly { readonly when: number; readonly tag: string }[];
}

test.skipIf(!reachable.postgres)('numbers that ran out before they were cyclic start again', async () => {
  const database = await testDatabase('postgresql');
  await (await openStore(database.url)).close();
  const { entries } = JSON.parse(readFileSync(productFile('core/store/migrations/pg/meta/_journal.json'), 'utf8')) as Journal;
  const when = entries.find(({ tag }) => tag.endsWith('cyclic_ids'))?.when;
  const sequences = ['mcp_sessions_id_seq', 'usage_callers_id_seq'];
  const [used = '', unused = ''] = sequences;
  for (const name of sequences) await database.run(`alter sequence ${name} no maxvalue no cycle`);
  await database.run(`select setval('${used}', 3000000000)`);
  await database.run(`select setval('${unused}', 41)`);
  await database.run(`delete from migrations where created_at = ${when}`);
  await (await openStore(database.url)).close();
  const next = async (name: string) => Number((await database.run(`select nextval('${name}') as next`))[0]?.['next']);
  expect([await next(used), await next(unused)]).toEqual([1, 42]);
  await database.drop();
});
