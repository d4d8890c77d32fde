import { Database } from 'bun:sqlite';
import { afterEach, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
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
    expect(await find('history?entity_type=connection&', 'süd')).toBe(1);
    expect(await find(`schema/${id}/tables?`, 'üBERSICHT')).toBe(1);
    expect(await find(`schema/${id}/tables?`, 'ubersicht')).toBe(0);
    expect(await find(`schema/${id}/tables/${encodeURIComponent('Übersicht')}/columns?`, 'GRÖSSE')).toBe(0);
    expect(await find(`schema/${id}/tables/${encodeURIComponent('Übersicht')}/columns?`, 'GRÖẞE')).toBe(1);
  });
});
