import { afterEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createClient } from '@libsql/client';
import { openStore } from '#core/store/open.ts';
import { runCli } from '#server/cli/program.ts';
import { testDatabase } from '#test/support/databases.ts';
import { namedStores } from '#test/support/metadata.ts';

const SECRET = 'a-secret-a-secret-a-secret-a-secret';
const secrets = { SVC_ENCRYPTION_KEY: SECRET, SVC_JWT_SECRET: SECRET, SVC_AGENT_SERVICE_TOKEN: SECRET };

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

interface Made {
  readonly url: string;
  readonly folder: string;
  run(text: string): Promise<readonly Record<string, unknown>[]>;
}

describe.each([...namedStores])('commands beside a server of another version (%s)', (dialect) => {
  async function makeDatabase(): Promise<Made> {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-versions-'));
    ends.push(() => rmSync(folder, { recursive: true, force: true }));
    if (dialect === 'postgresql') {
      const database = await testDatabase('postgresql');
      ends.push(() => database.drop());
      return { url: database.url, folder, run: (text) => database.run(text) };
    }
    const url = `file:${join(folder, 'sluice.sqlite')}`;
    const client = createClient({ url });
    ends.push(() => client.close());
    return { url, folder, run: async (text) => (await client.execute(text)).rows };
  }
  /** Tables whose migrations this version does not have, as they come before its first one. */
  async function makePreRelease(): Promise<Made> {
    const made = await makeDatabase();
    await made.run('create table migrations (created_at bigint primary key, hash text not null)');
    await made.run('create table admins (id text primary key, username text not null)');
    for (const at of [1, 2]) await made.run(`insert into migrations (created_at, hash) values (${at}, 'earlier')`);
    return made;
  }
  const cli = async ({ url, folder }: Made, ...args: string[]) => {
    let [out, err] = ['', ''];
    const code = await runCli(args, {
      environment: { SVC_ENV: 'dev', SVC_KV: 'memory', SVC_DATABASE_URL: url, SVC_DATA_DIR: folder, ...secrets },
      stdin: Readable.from(['']),
      out: (text) => void (out += text),
      err: (text) => void (err += text),
    });
    return { code, out, err };
  };
  const tablesOf = (made: Made) =>
    made.run(
      dialect === 'sqlite'
        ? 'select name, sql from sqlite_master order by name'
        : "select table_name, column_name from information_schema.columns where table_schema = 'public' order by 1, 2",
    );

  test('and a server refuse a database of a pre-release version, and leave it as it is', async () => {
    const made = await makePreRelease();
    const before = await tablesOf(made);
    const refused = await openStore(made.url).catch((error: unknown) => String(error));
    expect(refused).toContain('from a pre-release version of Sluice');
    const checked = await cli(made, 'check');
    expect(checked).toMatchObject({ code: 1, out: expect.stringMatching(/fault\s+metadata database .*pre-release version/) });
    for (const line of ['keys status', 'keys rewrap', 'export', 'people list', 'reset-2fa', 'import package.json'])
      expect({ line, ...(await cli(made, ...line.split(' '))) }).toMatchObject({
        line,
        code: 1,
        err: expect.stringContaining('pre-release version'),
      });
    const copy = join(made.folder, 'copy.sqlite');
    expect((await cli(made, 'backup', copy)).code).toBe(0);
    expect(await tablesOf(made)).toEqual(before);
    expect(await made.run('select created_at from migrations')).toHaveLength(2);
    if (dialect === 'postgresql') return;
    const client = createClient({ url: `file:${copy}` });
    expect((await client.execute('select created_at from migrations')).rows).toHaveLength(2);
    client.close();
  });

  test('and a server refuse a database of a newer version', async () => {
    const made = await makeDatabase();
    await (await openStore(made.url)).close();
    expect((await cli(made, 'check')).code).toBe(0);
    await made.run("insert into migrations (created_at, hash) values (9000000000000, 'newer')");
    const refused = await openStore(made.url).catch((error: unknown) => String(error));
    expect(refused).toContain('newer version of Sluice');
    expect(await cli(made, 'check')).toMatchObject({ code: 1, out: expect.stringContaining('newer version of Sluice') });
    for (const line of ['keys status', 'export', 'people list'])
      expect(await cli(made, ...line.split(' '))).toMatchObject({ code: 1, err: expect.stringContaining('newer version') });
    expect((await cli(made, 'backup', join(made.folder, 'copy.sqlite'))).code).toBe(0);
  });

  test('make nothing in an empty database, but for an import', async () => {
    const made = await makeDatabase();
    await made.run('select 1');
    if (dialect === 'sqlite') writeFileSync(join(made.folder, 'sluice.sqlite'), '');
    expect(await cli(made, 'check')).toMatchObject({ code: 0, out: expect.stringMatching(/warning .*is empty/) });
    expect(await cli(made, 'export')).toMatchObject({ code: 1, err: expect.stringContaining('is empty') });
    expect(await tablesOf(made)).toEqual([]);
    const file = join(made.folder, 'export.json');
    const content = { format: 'sluice/1', connections: [], tools: [], resources: [], prompts: [] };
    writeFileSync(file, JSON.stringify(content));
    expect(await cli(made, 'import', file)).toMatchObject({ code: 0 });
    expect(await cli(made, 'export')).toMatchObject({ code: 0 });
  });
});
