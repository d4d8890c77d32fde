import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { COMMANDS } from '#server/cli/program.ts';
import { PROGRAM_WORDS } from '#server/cli/programs.ts';
import { describeOneCommand, isServed } from '#test/support/one-command.ts';
import { startPrograms } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';

/** The tarball of `npm pack`, unpacked beside its dependencies as npm does it, on a machine that has only Node. */
const ROOT = join(import.meta.dir, '../..');
const folder = mkdtempSync(join(tmpdir(), 'sluice-package-'));
const modules = join(folder, 'node_modules');
const home = join(modules, 'sluice');
const PATH = join(folder, 'bin');
const NODE = join(PATH, 'node');
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
  'dependencies' | 'optionalDependencies',
  Record<string, string>
>;
const installed = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
let files: string[];

function run(command: readonly string[], env: Record<string, string | undefined> = { PATH }, cwd = folder) {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { env, cwd, stdin: 'ignore' });
  return { code: exitCode, out: stdout.toString(), err: stderr.toString() };
}
const sluice = (...args: string[]) => run([NODE, join(home, 'sluice.mjs'), ...args]);

beforeAll(() => {
  const packed = run(['npm', 'pack', '--json', '--pack-destination', folder], process.env, ROOT);
  expect(packed).toMatchObject({ code: 0 });
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';
  mkdirSync(home, { recursive: true });
  expect(run(['tar', 'xzf', tarball, '-C', home, '--strip-components=1'], process.env)).toMatchObject({ code: 0 });
  for (const name of installed) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  }
  mkdirSync(PATH);
  symlinkSync(Bun.which('node') ?? '', NODE);
  files = readdirSync(home, { recursive: true, encoding: 'utf8' });
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the package', () => {
  test('holds the programs and the built interface, and nothing of the tests or of the tools', () => {
    for (const path of ['sluice.mjs', 'server/sluice.ts', 'ui/dist/index.html', 'core/store/migrations'])
      expect(files).toContain(path);
    const others = files.filter((path) =>
      /^(test|data|node_modules|ui\/src|\.ci|launch\.mjs)|\.test\.ts$|build-binary/.test(path),
    );
    expect(others).toEqual([]);
  });

  test('imports packages that it is installed with', () => {
    const transpiler = new Bun.Transpiler({ loader: 'ts' });
    const imported = files
      .filter((path) => path.endsWith('.ts') && !path.startsWith('snapshots/generate/project/') && !path.endsWith('.d.ts'))
      .flatMap((path) => transpiler.scanImports(readFileSync(join(home, path), 'utf8')).map((found) => found.path))
      .filter((path) => !/^([#.]|(node|bun|cloudflare):)/.test(path))
      .map((path) => path.split('/', path.startsWith('@') ? 2 : 1).join('/'));
    const known = new Set([...installed, ...(process.getBuiltinModule('node:module').builtinModules as string[])]);
    expect([...new Set(imported)].filter((name) => !known.has(name))).toEqual([]);
  });
});

describe('sluice', () => {
  test('explains itself and each of its commands', () => {
    const help = sluice('--help');
    expect(help).toMatchObject({ code: 0, err: '' });
    for (const { usage } of Object.values({ ...COMMANDS, ...PROGRAM_WORDS })) expect(help.out).toContain(`  ${usage}\n`);
    for (const name of ['start', 'stdio', 'plan']) {
      expect(sluice(name, '--help')).toMatchObject({ code: 0, out: expect.stringContaining(`sluice ${name}`) });
    }
  }, 60_000);

  test('refuses what it does not know with 64 and the nearest name', () => {
    expect(sluice('strat')).toMatchObject({ code: 64, err: expect.stringContaining('Did you mean start?') });
    expect(sluice('host', '--loud')).toMatchObject({ code: 64, err: 'Usage: sluice host\n' });
  }, 60_000);
});

const start = () => startPrograms({ command: [NODE, join(home, 'sluice.mjs')], env: { PATH } });
describeOneCommand('sluice start', start, 5, (programs) => {
  test('sluice bundle writes what is deployed as one module', async () => {
    const { api, directory } = programs();
    await api('POST', '/connections', {
      name: 'edge',
      db_type: 'libsql',
      host: 'edge.example.com',
      database: 'shop',
      password: 't',
    });
    const { items } = await api<{ items: { id: string; name: string }[] }>('GET', '/connections');
    for (const { id, name } of items) if (name !== 'edge') await api('PATCH', `/connections/${id}`, { enabled: false });
    await api('POST', '/deploy', { allow: ['breaking'] });
    const env = { PATH, SVC_ENV: 'dev', SVC_KV: 'memory', SVC_DATA_DIR: directory };
    const { code, err } = run([NODE, join(home, 'sluice.mjs'), 'bundle', '--target', 'deno', '--out', 'edge.mjs'], env);
    expect({ code, err }).toMatchObject({ code: 0 });
    expect(readFileSync(join(folder, 'edge.mjs'), 'utf8')).toContain('export');
  }, 60_000);
});

test('what npx started ends with it when it is killed', async () => {
  const bin = join(modules, '.bin/sluice');
  mkdirSync(dirname(bin));
  chmodSync(join(home, 'sluice.mjs'), 0o755);
  symlinkSync(join(home, 'sluice.mjs'), bin);
  const directory = join(folder, 'data');
  mkdirSync(directory);
  const env = { PATH: `${PATH}:/usr/bin:/bin`, npm_config_update_notifier: 'false' };
  const programs = await startPrograms({ command: [Bun.which('npx') ?? '', '--no', 'sluice'], env, directory });
  await programs.demo();
  await programs.stop('SIGKILL');
  await until(async () => !(await isServed(programs)));
}, 60_000);

test('what was started in the background goes on without its shell', async () => {
  const directory = join(folder, 'background');
  mkdirSync(directory);
  const line = `"${NODE}" "${join(home, 'sluice.mjs')}" & echo "pid $!"`;
  const programs = await startPrograms({ command: ['/bin/sh', '-c', line], env: { PATH }, directory });
  await programs.demo();
  expect(await programs.process.exited).toBe(0);
  await Bun.sleep(500);
  expect(await isServed(programs)).toBe(true);
  process.kill(Number(/pid (\d+)/.exec(programs.output())?.[1]), 'SIGTERM');
  await until(async () => !(await isServed(programs)));
}, 60_000);
