import { Database } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestApp } from './app.ts';

/** A SQLite connection named `shop`, whose file was made by these statements; its id. */
export async function sqliteConnection(t: TestApp, ...statements: readonly string[]): Promise<string> {
  const folder = join(t.directory, 'databases');
  mkdirSync(folder, { recursive: true });
  const db = new Database(join(folder, 'shop.sqlite'), { create: true });
  for (const statement of statements) db.run(statement);
  db.close();
  return (await t.call('connections.create', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' })).id;
}
