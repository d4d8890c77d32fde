import { describe, expect, test } from 'bun:test';
import { createClient } from '@libsql/client';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testApp } from '#test/support/app.ts';
import { testDatabase } from '#test/support/databases.ts';
import { namedStores } from '#test/support/metadata.ts';
import { olderMetadata } from '#test/support/older-metadata.ts';

const entry = (id: string, name: string): string =>
  `insert into history (id, entity_type, entity_id, entity_name, action, actor, created_at)
   values ('${id}', 'tool', 'one', 'products', 'update', '{"type":"admin","id":"a","name":"${name}"}', '2026-03-01T12:00:00.000Z')`;
/** The last two are names that no text can hold: PostgreSQL refuses them, and the driver of SQLite ends its process. */
const OLDER = [entry('1', 'ada'), entry('2', 'grace'), entry('3', 'ada'), entry('4', '\\u0000'), entry('5', 'half \\ud800')];

describe.each([...namedStores])('a history from before it was listed by name (%s)', (dialect) => {
  test('is listed by name', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-history-'));
    const statements = [...olderMetadata(dialect, 'history_filters'), ...OLDER];
    const database = dialect === 'postgresql' ? await testDatabase('postgresql') : null;
    const url = database?.url ?? `file:${join(folder, 'older.sqlite')}`;
    const client = database === null ? createClient({ url }) : null;
    for (const statement of statements) await (database?.run(statement) ?? client?.execute(statement));
    client?.close();
    const t = await testApp({}, url);
    await t.signIn();
    const idsBy = async (actor: string) => {
      const page = await t.call('history.list', { entity_type: 'tool', actor });
      return (page.items as { id: string }[]).map(({ id }) => id);
    };
    expect([await idsBy('ada'), await idsBy('grace'), await idsBy('nobody')]).toEqual([['3', '1'], ['2'], []]);
    expect((await t.call('history.list', { entity_id: 'one' })).total).toBe(5);
    await t.close();
    await database?.drop();
    rmSync(folder, { recursive: true, force: true });
  });
});
