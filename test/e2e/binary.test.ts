import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { type Programs, removeFolder, startPrograms, until } from '#test/support/programs.ts';
import { foreignFolder, stdioLine, toolsOf } from '#test/support/stdio-line.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-binary-'));
const binary = join(folder, 'sluice');
let programs: Programs;

beforeAll(async () => {
  const build = Bun.spawn([process.execPath, 'server/build-binary.ts', binary], { stdout: 'pipe', stderr: 'pipe' });
  const [said, errors] = await Promise.all([new Response(build.stdout).text(), new Response(build.stderr).text()]);
  expect({ code: await build.exited, errors }).toEqual({ code: 0, errors: '' });
  expect(said).toMatch(/sluice: \d+ MB/);
  // No file of the repository and no Bun is in reach of what is started.
  programs = await startPrograms({ command: [binary], env: { PATH: '/usr/bin:/bin' } });
  await programs.demo();
}, 90_000);

afterAll(async () => {
  await programs?.stop();
  if (programs) removeFolder(programs);
  rmSync(folder, { recursive: true, force: true });
});

test('the demo is deployed and both official clients call it', async () => {
  for (const kind of ['v1', 'v2'] as const) {
    const client = await connectClient(kind, programs.mcp_url);
    expect(await client.tools()).toHaveLength(4);
    expect((await client.call('get_customer', { email: 'ada@example.com' })).structuredContent).toMatchObject({
      row: { name: 'Ada' },
    });
    await client.close();
  }
});

test('the stdio line works from another folder', async () => {
  await programs.signIn();
  const elsewhere = foreignFolder();
  const { line, secrets } = await stdioLine(programs);
  expect(secrets).toEqual([]);
  expect(await toolsOf(line, elsewhere)).toHaveLength(4);
  rmSync(elsewhere, { recursive: true });
}, 30_000);

test('the interface and the documentation pages are inside', async () => {
  const page = await (await fetch(programs.url)).text();
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(page)?.[1] ?? '';
  for (const path of [script, '/api/docs', '/api/docs/assets/swagger-ui-bundle.js', '/api/redoc']) {
    const answer = await fetch(programs.url + path);
    expect({ path, status: answer.status, empty: (await answer.text()).length < 100 }).toEqual({
      path,
      status: 200,
      empty: false,
    });
  }
});

test('the generated project is written as from the sources', async () => {
  const target = join(programs.directory, 'generated/1');
  await until(
    () => existsSync(join(target, 'src/main.ts')),
    20_000,
    () => programs.output(),
  );
  const files = readdirSync(target, { recursive: true, encoding: 'utf8' }).map((path) => join(target, path));
  expect(files.filter((path) => statSync(path).isFile() && statSync(path).size === 0)).toEqual([]);
  expect(files.some((path) => path.endsWith('engine/template/evaluate.ts') || path.includes('engine/template/'))).toBe(true);
});

test.skipIf(!reachable.postgres)('PostgreSQL’s parser works: a statement is previewed and a write is refused', async () => {
  await programs.signIn();
  const database = await testDatabase('postgresql');
  try {
    const { db_type, host, port, database: name, username } = database.settings;
    const draft = { name: 'binary', db_type, host, port, database: name, username };
    const connection = await programs.api<{ id: string }>('POST', '/connections', draft);
    const preview = { connection_id: connection.id, sql_query: 'select 41 + 1 as answer' };
    expect(await programs.api('POST', '/preview/execute', preview)).toMatchObject({ rows: [{ answer: 42 }] });
    const write = programs.api('POST', '/preview/execute', { ...preview, sql_query: 'create table t (id int)' });
    expect(await write.then(() => 'ran', String)).toContain('answered 400');
    await programs.api('DELETE', `/connections/${connection.id}`);
  } finally {
    await database.drop();
  }
});

test('other words are those of the command line', async () => {
  const check = Bun.spawnSync([binary, 'check'], {
    env: { SVC_ENV: 'dev', SVC_DATA_DIR: programs.directory },
    cwd: folder,
  });
  expect(check.stdout.toString()).toMatch(/ok\s+environment/);
});
