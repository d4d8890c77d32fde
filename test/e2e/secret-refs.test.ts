import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { type TwoRuntimes, startTwoRuntimes } from '#test/support/two-runtimes.ts';

const account = `r${crypto.randomUUID().slice(0, 8)}`;
let both: TwoRuntimes;
let database: TestDatabase;
let folder: string;
let urls: string[] = [];

async function answerOf(url: string, name: string): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } }),
  });
  return response.text();
}

describe.skipIf(!reachable.mysql)('a host on Bun and a host on Deno', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-refs-'));
    database = await testDatabase('mysql');
    await database.run(`create user '${account}'@'127.0.0.1' identified by 'canary'`);
    await database.run(`grant select on ${database.settings.database}.* to '${account}'@'127.0.0.1'`);
    writeFileSync(join(folder, 'password'), 'canary\n');
    writeFileSync(join(folder, 'print'), `#!/bin/sh\ncat "$1"\n`);
    chmodSync(join(folder, 'print'), 0o755);
    both = await startTwoRuntimes({ SHOP_PASSWORD: 'canary', SVC_SECRET_COMMANDS: `print=${folder}/print`, SVC_DEMO: 'false' });
    const { server } = both;
    await server.signIn();
    await server.api('PATCH', '/server/config', { secret_refs: ['env:SHOP_PASSWORD', `file:${folder}/`, 'exec:print'] });
    const { host, port, database: name } = database.settings;
    for (const [kind, ref] of Object.entries({
      env: 'env:SHOP_PASSWORD',
      file: `file:${folder}/password`,
      exec: `exec:print ${folder}/password`,
    })) {
      const address = { name: kind, db_type: 'mysql', host, port, database: name, username: account, password: { ref } };
      const { id } = await server.api<{ id: string }>('POST', '/connections', address);
      const sql_query = `select '${kind}' as kind`;
      await server.api('POST', '/tools', { name: `of_${kind}`, description: 'Its kind', sql_query, connection_id: id });
    }
    await server.api('POST', '/deploy', {});
    urls = (await both.startHosts()).map(({ url }) => url);
  }, 90_000);
  afterAll(async () => {
    await both?.stop();
    await database.run(`drop user '${account}'@'127.0.0.1'`);
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('read passwords from their environment, a file and a command', async () => {
    for (const url of urls) {
      for (const kind of ['env', 'file', 'exec'])
        expect([url, await answerOf(url, `of_${kind}`)]).toEqual([url, expect.stringContaining(`"kind":"${kind}"`)]);
    }
    expect(both.server.output()).not.toContain('canary');
  });

  test('use a changed password without a deploy', async () => {
    await database.run(`alter user '${account}'@'127.0.0.1' identified by 'canary-two'`);
    writeFileSync(join(folder, 'password'), 'canary-two');
    const sessions = await database.run(`select id from information_schema.processlist where user = '${account}'`);
    for (const { id } of sessions) await database.run(`kill ${String(id)}`).catch(() => undefined);
    for (const url of urls) {
      for (const kind of ['file', 'exec'])
        expect([url, await answerOf(url, `of_${kind}`)]).toEqual([url, expect.stringContaining(`"kind":"${kind}"`)]);
      // Its variable still has the old one.
      expect(await answerOf(url, 'of_env')).toContain('cannot be reached');
    }
  });
});
