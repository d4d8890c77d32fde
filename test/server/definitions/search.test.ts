import { Database } from 'bun:sqlite';
import { afterEach, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { isFound } from '#core/lib/text/search.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable } from '#test/support/databases.ts';
import { type Dialect, namedStores } from '#test/support/metadata.ts';

const open: TestApp[] = [];
afterEach(async () => {
  for (const t of open.splice(0)) await t.close();
});

async function installation(metadata: Dialect): Promise<TestApp> {
  const t = await testApp({}, undefined, { metadata });
  open.push(t);
  await t.signIn();
  return t;
}

/** A text, and searches that find it. */
const FOUND: readonly [text: string, searches: string[]][] = [
  ['Übersicht', ['übersicht', 'ÜBER', 'U\u0308bersicht', 'sich']],
  ['u\u0308bel', ['ÜBEL', 'u\u0308BEL']],
  ['ΟΔΟΣ ΑΘΗΝΩΝ', ['οδος', 'οδοσ', 'Αθηνών'.normalize('NFD').replaceAll('\u0301', '')]],
  ['İstanbul', ['istanbul', 'ISTANBUL', 'İSTANBUL', 'ıstanbul']],
  ['ДОСТАВКА', ['доставка']],
  ['GROẞ und groß', ['groß und GROẞ']],
  ['100% [neu] *x* a_b? \\d+ (y) ^z$ {1}', ['100% [NEU]', '*X* A_B?', '\\D+', '(Y) ^Z$ {1}']],
  ['Smile 😀 here', ['😀 HERE']],
];
const NOT_FOUND = ['ubersicht', '100%n', 'a.b', 'axb', '[a-z]'];

test('lists that are filtered in the page find what the server finds', () => {
  for (const [text, searches] of FOUND)
    for (const search of searches) expect([search, isFound(search, text)]).toEqual([search, true]);
  for (const search of NOT_FOUND) expect(FOUND.filter(([text]) => isFound(search, text))).toEqual([]);
  expect(isFound('email customer', 'customer', 'e-mail', 'email')).toBe(true);
  expect(isFound('email order', 'customer', 'email')).toBe(false);
  expect(isFound(' ', null)).toBe(true);
});

if (!reachable.postgres) test.skip('kept in PostgreSQL (not reachable)', () => undefined);

describe.each([...namedStores])('kept in %s', (dialect) => {
  test('a search ignores the case of every alphabet, and takes signs as they are', async () => {
    const t = await installation(dialect);
    for (const [n, [text]] of FOUND.entries()) {
      const body = { name: `p${n}`, description: text, template: 'Hello', arguments: [] };
      expect((await t.send('prompts.create', body)).status).toBe(201);
    }
    const find = async (search: string) => {
      const page = await t.call('prompts.list', { search });
      return (page.items as { name: string }[]).map(({ name }) => name);
    };
    for (const [n, [, searches]] of FOUND.entries()) {
      for (const search of searches) expect([search, await find(search)]).toEqual([search, expect.arrayContaining([`p${n}`])]);
    }
    for (const search of NOT_FOUND) expect([search, await find(search)]).toEqual([search, []]);
  });

  test('every word of a search is found in any order in any text, and the best match is first', async () => {
    const t = await installation(dialect);
    const drafts = [
      { name: 'billing', description: 'Finds the email of a customer', tags: ['"quoted"'] },
      { name: 'by_email', description: 'Of one customer', tags: [] },
      { name: 'customer_email', description: 'Finds one', tags: [] },
      { name: 'customer_email_history', description: 'Finds more', tags: [] },
      { name: 'invoices', title: 'Customer invoices', description: 'Paid ones', tags: ['e-mail', 'email'] },
      { name: 'orders', description: 'Of a customer', tags: [] },
    ];
    for (const draft of drafts) await t.call('prompts.create', { template: 'Hello', arguments: [], ...draft });
    const find = async (search: string) => (await t.call('prompts.list', { search })).items.map(({ name }) => name);
    const found = ['customer_email', 'customer_email_history', 'by_email', 'invoices', 'billing'];
    expect(await find('customer email')).toEqual(found);
    expect(await find('  EMAIL  Customer ')).toEqual(found);
    expect(await find('customer_email_history')).toEqual(['customer_email_history']);
    // Whole names stand before longer ones, also where paging ends.
    expect((await t.call('prompts.list', { search: 'customer_email', limit: 1 })).items[0]?.name).toBe('customer_email');
    expect(await find('"quoted"')).toEqual(['billing']);
    expect(await find('customer nothing')).toEqual([]);
    for (const sign of ['[', ']', ',', '"e']) expect([sign, await find(sign)]).toEqual([sign, []]);
    expect(await find('   ')).toHaveLength(drafts.length);
  });

  test('names of connections and of the history are searched alike', async () => {
    const t = await installation(dialect);
    mkdirSync(join(t.directory, 'databases'));
    const db = new Database(join(t.directory, 'databases/shop.sqlite'));
    db.run('create table "Übersicht" ("Größe" text)');
    db.close();
    const connection = await t.call('connections.create', { name: 'Läger Süd', db_type: 'sqlite', database: 'shop.sqlite' });
    const id = connection.id;
    const find = async (path: string, search: string) =>
      (await t.request('GET', `/api/v1/${path}search=${encodeURIComponent(search)}`)).body['total'];
    expect(await find('connections?', 'LÄGER')).toBe(1);
    expect(await find('connections?', 'süd läger')).toBe(1);
    expect(await find('history?entity_type=connection&', 'süd läger')).toBe(1);
    expect(await find(`schema/${id}/tables?`, 'üBERSICHT')).toBe(1);
    expect(await find(`schema/${id}/tables?`, 'ubersicht')).toBe(0);
    expect(await find(`schema/${id}/tables/${encodeURIComponent('Übersicht')}/columns?`, 'GRÖSSE')).toBe(0);
    expect(await find(`schema/${id}/tables/${encodeURIComponent('Übersicht')}/columns?`, 'GRÖẞE')).toBe(1);
  });
});
