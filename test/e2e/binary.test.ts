import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { describeOneCommand } from '#test/support/one-command.ts';
import { startPrograms } from '#test/support/programs.ts';
import { createKey, sshd_is_here, startSshServer } from '#test/support/ssh-server.ts';
import { until } from '#test/support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-binary-'));
const binary = join(folder, 'sluice');

beforeAll(async () => {
  const build = Bun.spawn([process.execPath, 'server/build-binary.ts', binary], { stdout: 'pipe', stderr: 'pipe' });
  const [said, errors] = await Promise.all([new Response(build.stdout).text(), new Response(build.stderr).text()]);
  expect({ code: await build.exited, errors }).toEqual({ code: 0, errors: '' });
  expect(said).toMatch(/sluice: \d+ MB/);
}, 90_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// No file of the repository and no Bun is in reach of what is started.
const start = () => startPrograms({ command: [binary], env: { PATH: '/usr/bin:/bin' } });

describeOneCommand('the executable', start, 4, (programs) => {
  const run = (...words: string[]) => {
    const env = { SVC_ENV: 'dev', SVC_DATA_DIR: programs().directory };
    const { exitCode, stdout, stderr } = Bun.spawnSync([binary, ...words], { env, cwd: folder });
    return { code: exitCode, out: stdout.toString(), err: stderr.toString() };
  };

  test('writes the generated project as the sources do', async () => {
    const target = join(programs().directory, 'generated/1');
    await until(
      () => existsSync(join(target, 'src/main.ts')),
      () => programs().output(),
    );
    const files = readdirSync(target, { recursive: true, encoding: 'utf8' }).map((path) => join(target, path));
    expect(files.filter((path) => statSync(path).isFile() && statSync(path).size === 0)).toEqual([]);
    expect(files.some((path) => path.endsWith('engine/template/evaluate.ts') || path.includes('engine/template/'))).toBe(true);
  });

  test.skipIf(!reachable.postgres)('has PostgreSQL’s parser: a statement is previewed and a write is refused', async () => {
    const database = await testDatabase('postgresql');
    const { api } = programs();
    try {
      const { db_type, host, port, database: name, username } = database.settings;
      const draft = { name: 'binary', db_type, host, port, database: name, username };
      const connection = await api<{ id: string }>('POST', '/connections', draft);
      const preview = { connection_id: connection.id, sql_query: 'select 41 + 1 as answer' };
      expect(await api('POST', '/preview/execute', preview)).toMatchObject({ rows: [{ answer: 42 }] });
      const write = api('POST', '/preview/execute', { ...preview, sql_query: 'create table t (id int)' });
      expect(await write.then(() => 'ran', String)).toContain('answered 400');
      await api('DELETE', `/connections/${connection.id}`);
    } finally {
      await database.drop();
    }
  });

  test.skipIf(!reachable.postgres || !sshd_is_here)('reaches a database through an SSH server (needs sshd)', async () => {
    const database = await testDatabase('postgresql');
    const server = await startSshServer(createKey());
    const { api } = programs();
    try {
      const { db_type, host, port, database: name, username } = database.settings;
      const connection = await api<{ id: string }>('POST', '/connections', {
        name: 'tunnelled',
        db_type,
        host,
        port,
        database: name,
        username,
        ssh: server.hop,
      });
      expect(await api('POST', `/connections/${connection.id}/test`)).toMatchObject({ success: true });
      await api('DELETE', `/connections/${connection.id}`);
    } finally {
      await server.close();
      await database.drop();
    }
  });

  test('knows the words of the command line', () => {
    expect(run('check').out).toMatch(/ok\s+environment/);
  });

  test('refuses a bundle, and says where one is written', () => {
    const sentence = 'This executable holds no sources to bundle. Run sluice bundle from the npm package or the repository.\n';
    expect(run('bundle', '--target', 'deno')).toEqual({ code: 1, out: '', err: sentence });
  });

  test('refuses DuckDB files and folders of files, and says what serves them', async () => {
    const { api, directory } = programs();
    mkdirSync(join(directory, 'databases/reports'), { recursive: true });
    writeFileSync(join(directory, 'databases/reports/sales.csv'), 'id,total\n1,2\n');
    writeFileSync(join(directory, 'databases/main.duckdb'), '');
    for (const database of ['reports', 'main.duckdb']) {
      const draft = { name: 'files', db_type: 'duckdb', database };
      const { id } = await api<{ id: string }>('POST', '/connections', draft);
      expect(await api('POST', `/connections/${id}/test`, {})).toMatchObject({
        success: false,
        message:
          'This executable is built without DuckDB. Run Sluice from the npm package to use DuckDB files and folders of files.',
      });
      await api('DELETE', `/connections/${id}`);
    }
  });
});
