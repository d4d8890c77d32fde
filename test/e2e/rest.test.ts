import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import type { Product } from '#test/support/programs.ts';
import { startProduct } from '#test/support/products.ts';

/** The script of the guide to REST, as it stands there. */
const SCRIPT =
  /```sh\n(# rest-walkthrough\n[\s\S]*?)```/.exec(readFileSync(new URL('../../docs/rest.md', import.meta.url), 'utf8'))?.[1] ??
  '';
const ROWS =
  "insert into products values (1, 'Atlas', 4.50, '2026-01-05', true), (2, 'Basket', 8.25, '2026-02-06', true), (3, 'Candle', 12, '2026-03-07', false)";

let programs: Product;
beforeAll(async () => {
  programs = await startProduct({ env: { SVC_DEMO: 'false' } });
}, 60_000);
afterAll(async () => {
  await programs.stop();
});

interface Shop {
  readonly connection: Record<string, unknown>;
  drop(): Promise<void>;
}

const shops: Record<string, { reachable: boolean; make: () => Promise<Shop> }> = {
  sqlite: {
    reachable: true,
    make: async () => {
      mkdirSync(join(programs.directory, 'databases'), { recursive: true });
      const db = new Database(join(programs.directory, 'databases/shop.sqlite'));
      db.run('create table products (id integer primary key, name text, price numeric, added_on date, in_stock boolean)');
      db.run(ROWS);
      db.close();
      return { connection: { db_type: 'sqlite', database: 'shop.sqlite' }, drop: async () => {} };
    },
  },
  postgresql: {
    reachable: reachable.postgres,
    make: async () => {
      const database = await testDatabase('postgresql');
      await database.run(
        'create table products (id int primary key, name text, price numeric(8,2), added_on date, in_stock boolean)',
      );
      await database.run(ROWS);
      return { connection: { ...database.settings }, drop: () => database.drop() };
    },
  },
  mariadb: {
    reachable: reachable.mysql,
    make: async () => {
      const database = await testDatabase('mysql');
      await database.run(
        'create table products (id int primary key, name varchar(100), price decimal(8,2), added_on date, in_stock boolean)',
      );
      await database.run(ROWS);
      return { connection: { ...database.settings, db_type: 'mariadb' }, drop: () => database.drop() };
    },
  },
};

describe.each(Object.entries(shops))('with the REST API alone on %s', (name, { reachable: is_there, make }) => {
  test.skipIf(!is_there)(
    'connect, preview, deploy, call from both official clients, change, deploy, call again',
    async () => {
      const shop = await make();
      try {
        const { db_type, host, port, database, username } = shop.connection;
        const connection = JSON.stringify({ name, db_type, host, port, database, username });
        const run = Bun.spawn(['bash', '-c', SCRIPT], {
          env: { ...process.env, SLUICE_URL: programs.url, CONNECTION: connection, TOOL: `products_${name}`, IN_STOCK: 'true' },
          stdout: 'pipe',
          stderr: 'pipe',
        });
        const started = performance.now();
        const [output, errors] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text()]);
        expect({ code: await run.exited, errors }).toEqual({ code: 0, errors: '' });
        const work_ms = performance.now() - started;
        expect(output).toContain('"success":true');
        expect(output).toContain('"row_count":2');
        for (const kind of ['v1', 'v2'] as const) {
          const client = await connectClient(kind, programs.mcp_url);
          const args = { least: 1, not_name: 'none', since: '2020-01-01', in_stock: true };
          const all = await client.call(`products_${name}`, args);
          expect(all.structuredContent).toMatchObject({
            row_count: 2,
            rows: [{ id: 2, name: 'Basket', added_on: '2026-02-06' }, { id: 1 }],
          });
          const some = await client.call(`products_${name}`, { ...args, ids: [1, 3] });
          expect(some.structuredContent).toMatchObject({ row_count: 1, rows: [{ id: 1 }] });
          const none = await client.call(`products_${name}`, { ...args, ids: [] });
          expect(none.structuredContent).toMatchObject({ row_count: 0 });
          await client.close();
        }
        process.stderr.write(`the walkthrough on ${name} took ${Math.round(work_ms)} ms\n`);
      } finally {
        await shop.drop();
      }
    },
    60_000,
  );
});
