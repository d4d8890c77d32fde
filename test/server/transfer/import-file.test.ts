import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EnvError, parseEnv } from '#core/process/env.ts';
import { createLog, type LogLine } from '#core/process/log.ts';
import { run } from '#core/control-plane/run.ts';
import { systemRequest } from '#core/context/context.ts';
import { startServer } from '#server/start.ts';

const SECRET = 'k'.repeat(16) + '0123456789abcdefg';
const shop = { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' };
const tool = { connection: 'shop', name: 'products', description: 'All products', sql_query: 'select id from products' };

/** Starts with this file twice, and answers what is stored after each start and what was logged. */
async function startWith(content: unknown): Promise<{ tools: string[][]; log: LogLine[] }> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-import-'));
  mkdirSync(join(directory, 'databases'));
  const db = new Database(join(directory, 'databases/shop.sqlite'));
  db.run('create table products (id integer primary key)');
  db.close();
  const file = join(directory, 'export.json');
  if (content !== undefined) writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  const { env } = parseEnv('server', {
    SVC_ENV: 'dev',
    SVC_KV: 'memory',
    SVC_PORT: '0',
    SVC_ENCRYPTION_KEY: SECRET,
    SVC_JWT_SECRET: SECRET,
    SVC_AGENT_SERVICE_TOKEN: SECRET,
    SVC_DATA_DIR: directory,
    SVC_IMPORT_FILE: file,
  });
  const log: LogLine[] = [];
  const tools: string[][] = [];
  try {
    for (const _ of ['first', 'second']) {
      const server = await startServer(
        env,
        createLog('DEBUG', (line) => log.push(line)),
      );
      const { items } = await run(server.app, 'tools.list', {}, systemRequest('test'));
      tools.push(items.map(({ name, version }) => `${name} ${version}`));
      await server.stop();
    }
    return { tools, log };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

test('the file is applied at the first start and leaves everything alone at the second', async () => {
  const server_config = { server_name: 'not applied' };
  const { tools, log } = await startWith({ format: 'sluice/1', connections: [shop], tools: [tool], server_config });
  expect(tools).toEqual([['products 1'], ['products 1']]);
  const applied = log.filter(({ message }) => message === 'file imported');
  expect(applied.map(({ fields }) => (fields as { created: { tools: number } }).created.tools)).toEqual([1, 0]);
});

test('a faulty file stops the start and every fault is named', async () => {
  const broken = { ...tool, name: 'broken', sql_query: 'select nothing from nowhere' };
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [undefined, /cannot be read/],
    ['{"format":', /is not a JSON object/],
    ['[]', /is not a JSON object/],
    [{ format: 'sluice/9' }, /format/],
    [
      { format: 'sluice/1', connections: [shop], tools: [tool, broken, { ...tool, name: 'odd', colour: 1 }] },
      /tools\.1\.sql_query[\s\S]*tools\.2\.colour/,
    ],
  ];
  for (const [content, sentence] of cases) {
    const fault = await startWith(content).then(
      () => null,
      (error: unknown) => error,
    );
    expect(fault).toBeInstanceOf(EnvError);
    expect((fault as EnvError).message).toMatch(sentence);
    expect((fault as EnvError).faults.every((line) => line.startsWith('SVC_IMPORT_FILE'))).toBe(true);
  }
});
