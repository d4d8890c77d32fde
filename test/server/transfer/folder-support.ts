import { Database } from 'bun:sqlite';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { runCli } from '#server/cli/program.ts';
import { type ListeningServer, listeningServer } from '#test/support/server.ts';

/** A running server with a shop, an agent's token, and folders beside it. */
export interface Shop {
  readonly s: ListeningServer;
  readonly token: string;
  /** A command of `sluice` with the address and the token in the environment. */
  sluice(...args: string[]): Promise<{ code: number; out: string; err: string }>;
  /** The same with another environment. */
  with(environment: Record<string, string>, ...args: string[]): Promise<{ code: number; out: string; err: string }>;
  folder(): string;
  stop(): Promise<void>;
}

export const TOOL = {
  connection: 'shop',
  name: 'products',
  description: 'All products.\nWith their prices.',
  sql_query: 'select id, name, price\nfrom products\n[[where name like :name]]',
  parameters: [{ name: 'name', type: 'string', description: 'A pattern', required: false }],
  tags: ['catalogue'],
};

export async function shop(variables: Record<string, string> = {}, seed = true): Promise<Shop> {
  const s = await listeningServer(undefined, { SVC_ALLOW_PRIVATE_NETWORKS: 'true', ...variables });
  await s.call('auth.setup', { username: 'ada', password: 'correct horse' });
  mkdirSync(join(s.directory, 'databases'), { recursive: true });
  const db = new Database(join(s.directory, 'databases/shop.sqlite'));
  db.run('create table if not exists products (id integer primary key, name text not null, price real)');
  db.run("insert into products (name, price) values ('Pen', 1.5), ('Ink', 9)");
  db.close();
  if (seed) {
    const seeded = await s.send('transfer.import', {
      format: 'sluice/1',
      connections: [
        { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' },
        {
          name: 'Lager / Süd',
          db_type: 'postgresql',
          host: '127.0.0.1',
          port: 1,
          database: 'x',
          username: 'ada',
          password: 'canary-password',
        },
      ],
      tools: [TOOL],
      resources: [
        {
          connection: 'shop',
          name: 'product',
          description: 'One product',
          uri_template: 'shop://products/{id}',
          sql_query: 'select * from products where id = :id',
          parameters: [{ name: 'id', type: 'integer' }],
        },
      ],
      prompts: [{ name: 'greet', description: 'Greets', template: 'Hello {{ who }}!\n', arguments: [{ name: 'who' }] }],
      toolsets: [{ name: 'sales', description: 'For sales', include: { tags: ['catalogue'], prompts: ['greet'] } }],
    });
    if (seeded.status !== 200) throw new Error(JSON.stringify(seeded.body));
  }
  const made = await s.call('agent_tokens.create', { name: 'ci', duration_minutes: 60, scopes: ['read', 'write', 'deploy'] });
  const token = made.token;
  const folders: string[] = [];
  const run: Shop['with'] = async (environment, ...args) => {
    let [out, err] = ['', ''];
    const code = await runCli(args, {
      environment,
      stdin: Readable.from([]),
      out: (text) => void (out += text),
      err: (text) => void (err += text),
    });
    return { code, out, err };
  };
  return {
    s,
    token,
    sluice: (...args) => run({ SLUICE_URL: s.url, SLUICE_TOKEN: token }, ...args),
    with: run,
    folder() {
      const path = mkdtempSync(join(tmpdir(), 'sluice-files-'));
      folders.push(path);
      return path;
    },
    async stop() {
      await s.stop();
      for (const path of folders) rmSync(path, { recursive: true, force: true });
    },
  };
}

/** Every file of a folder that a repository would hold, by its path. */
export function filesOf(folder: string): Record<string, string> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((path) => !path.startsWith('.sluice/'));
  return Object.fromEntries(paths.toSorted().map((path) => [path, readFileSync(join(folder, path), 'utf8')]));
}

/** Edits a file as a text editor does. */
export function edit(folder: string, path: string, change: (text: string) => string): void {
  const file = join(folder, path);
  writeFileSync(file, change(readFileSync(file, 'utf8')));
}
