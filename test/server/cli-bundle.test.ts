import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { answering, COMPATIBILITY_DATE, startBundle } from '#test/support/edge.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { deno } from '#test/support/deno.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { rpc } from '#test/mcp-host/support.ts';
import { freePort } from '#test/support/free-port.ts';

const ROOT = join(import.meta.dir, '../..');
const SECRET = 'a-secret-a-secret-a-secret-a-secret';
const secrets = { SVC_ENCRYPTION_KEY: SECRET, SVC_JWT_SECRET: SECRET, SVC_AGENT_SERVICE_TOKEN: SECRET };
const guide = readFileSync(join(ROOT, 'docs/edge-bundle.md'), 'utf8');
/** The texts of the guide's code blocks of one language. */
const blocks = (language: string): string[] =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, text = '']) => text);
const commands = blocks('sh').flatMap((text) => text.trim().split('\n'));

describe.skipIf(!reachable.postgres)('the guide to bundles', () => {
  let t: TestApp;
  let database: TestDatabase;
  const ports: Readonly<Record<string, string>> = { '8787': String(freePort()), '8788': String(freePort()) };

  const environment = () => ({
    SVC_ENV: 'dev',
    SVC_KV: 'memory',
    SVC_ALLOW_PRIVATE_NETWORKS: 'true',
    ...secrets,
    SVC_DATA_DIR: t.directory,
    HOME: t.directory,
    DENO_DIR: join(t.directory, 'deno'),
    PATH: [dirname(deno()), join(ROOT, 'node_modules/.bin'), process.env['PATH'] ?? ''].join(':'),
  });
  /** A line of the guide, in the folder of the test. */
  const start = (command: string) => {
    const here = command
      .replace('bun run sluice', `bun ${join(ROOT, 'server/cli.ts')}`)
      .replace(/\b878[78]\b/g, (port) => ports[port] ?? port);
    // The program itself is what is ended, not the shell.
    const line = here.replace(/^((?:[A-Z_]+=\S+ )*)/, (variables) => (variables === '' ? 'exec ' : `exec env ${variables}`));
    return Bun.spawn(['sh', '-c', line], {
      cwd: t.directory,
      env: environment(),
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    });
  };
  const run = async (command: string) => {
    const child = start(command);
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { code: await child.exited, out, err };
  };
  const post = async (path: string, body: unknown) => {
    const answer = await t.request('POST', `/api/v1/${path}`, { body });
    expect([path, answer.status < 300 ? '' : answer.body]).toEqual([path, '']);
    return answer.body;
  };

  beforeAll(async () => {
    database = await testDatabase('postgresql');
    await database.run("create table item (id int primary key, name text); insert into item values (1, 'pen')");
    t = await testApp({ ...secrets, SVC_ALLOW_PRIVATE_NETWORKS: 'true' });
    await t.signIn();
    const { host, port, username } = database.settings;
    const connection = {
      name: 'shop',
      db_type: 'postgresql',
      host,
      port,
      username,
      password: 'secret',
      database: database.settings.database,
    };
    const { id } = await post('connections', connection);
    await post('tools', {
      connection_id: id,
      name: 'list_items',
      description: 'All items',
      sql_query: 'select id, name from item order by id',
    });
    await post('deploy', {});
  });
  afterAll(async () => {
    await t?.close();
    await database?.drop();
  });

  test('has commands of every kind', () => {
    expect(commands.map((command) => command.replace(/^(?:[A-Z_]+=\S+ )*/, '').split(' ')[0])).toEqual([
      'bun',
      'bun',
      'bun',
      'deno',
      'bun',
      'curl',
      'curl',
    ]);
  });

  test('writes bundles, says what they need, and runs them', async () => {
    for (const command of commands.filter((line) => line.startsWith('bun run sluice'))) {
      const { code, out, err } = await run(command);
      expect({ code, out, err }).toMatchObject({
        code: 0,
        out: expect.stringMatching(
          /^Version 1 written to sluice-\w+\.mjs \(\d+ bytes, \d+ as gzip\)\.\nSet these bindings where it runs:\n {2}SHOP_PASSWORD\n$/,
        ),
      });
      expect(err).toContain('The connection shop: ');
      expect(err).toContain('A bundle does not follow deploys');
    }
    const servers = commands.filter((line) => /(?:deno serve|bun sluice)/.test(line)).map(start);
    try {
      for (const port of Object.values(ports)) {
        const url = new URL(`http://127.0.0.1:${port}/mcp`);
        await answering(
          () => url.origin,
          () => true,
        );
        const called = await rpc(url, { id: 1, method: 'tools/call', params: { name: 'list_items', arguments: {} } });
        expect(called.body.result).toMatchObject({ structuredContent: { rows: [{ id: 1, name: 'pen' }] } });
      }
      const [health, list] = await Promise.all(commands.filter((line) => line.startsWith('curl')).map(run));
      expect(JSON.parse(health?.out ?? '')).toMatchObject({ status: 'running', snapshot_version: 1 });
      expect(JSON.parse(list?.out ?? '')).toMatchObject({ result: { tools: [{ name: 'list_items' }] } });
    } finally {
      for (const server of servers) server.kill();
      await Promise.all(servers.map(({ exited }) => exited));
    }
  });

  test('has the settings of Workers with which the tests run', async () => {
    expect(Bun.TOML.parse(blocks('toml')[0] ?? '')).toEqual({
      name: 'shop-mcp',
      main: 'sluice-workers.mjs',
      compatibility_date: COMPATIBILITY_DATE,
      compatibility_flags: ['nodejs_compat'],
    });
    const worker = await startBundle('workers', readFileSync(join(t.directory, 'sluice-workers.mjs'), 'utf8'), {
      bindings: { SHOP_PASSWORD: 'secret' },
    });
    try {
      const called = await rpc(new URL('/mcp', worker.url), {
        id: 1,
        method: 'tools/call',
        params: { name: 'list_items', arguments: {} },
      });
      expect(called.body.result).toMatchObject({ structuredContent: { rows: [{ id: 1, name: 'pen' }] } });
    } finally {
      await worker.stop();
    }
  });

  test('an earlier version is bundled by its number; what is not there is refused', async () => {
    const bundle = (options: string) => run(`bun run sluice bundle ${options}`);
    expect(await bundle('--target bun --snapshot 1 --out again.mjs')).toMatchObject({ code: 0 });
    const again = readFileSync(join(t.directory, 'again.mjs'), 'utf8');
    expect(again.length).toBe(readFileSync(join(t.directory, 'sluice-bun.mjs'), 'utf8').length);
    expect(await bundle('--target bun --snapshot 9')).toMatchObject({ code: 1, err: 'There is no version 9.\n' });
    expect(await bundle('--target bun --snapshot x')).toMatchObject({ code: 64 });
    expect(await bundle('--target node')).toMatchObject({ code: 64, err: '--target must be one of workers, deno, bun.\n' });
  });

  test('what cannot be bundled is named, and nothing is written', async () => {
    expect((await t.send('config.update', { transport: 'stdio' })).status).toBe(200);
    await post('deploy', {});
    const { code, err } = await run('bun run sluice bundle --target bun --out never.mjs');
    expect({ code, err }).toEqual({
      code: 1,
      err: 'transport stdio cannot be bundled: a bundle answers HTTP. Set transport to http.\n',
    });
    expect(existsSync(join(t.directory, 'never.mjs'))).toBe(false);
  });
});
