import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { COMMANDS } from '#server/cli/program.ts';
import { PROGRAM_WORDS } from '#server/cli/programs.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { foreignFolder, stdioLine, toolsOf } from '#test/support/stdio-line.ts';

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
  }, 30_000);

  test('refuses what it does not know with 64 and the nearest name', () => {
    expect(sluice('strat')).toMatchObject({ code: 64, err: expect.stringContaining('Did you mean start?') });
    expect(sluice('host', '--loud')).toMatchObject({ code: 64, err: 'Usage: sluice host\n' });
  }, 30_000);
});

describe('sluice start', () => {
  let programs: Programs;
  beforeAll(async () => {
    programs = await startPrograms({ command: [NODE, join(home, 'sluice.mjs')], env: { PATH } });
    await programs.demo();
  }, 60_000);
  afterAll(() => removeFolder(programs));

  test('says first where the data is, and serves the interface and the demo', async () => {
    expect(programs.output().split('\n')[0]).toBe(`Data folder: ${programs.directory} (set SVC_DATA_DIR to change it)`);
    expect(await (await fetch(programs.url)).text()).toContain('<script');
    const client = await connectClient('v2', programs.mcp_url);
    expect(await client.tools()).toHaveLength(4);
    await client.close();
  });

  test('prints a stdio line that works from another folder', async () => {
    await programs.signIn();
    const elsewhere = foreignFolder();
    const { line, secrets } = await stdioLine(programs);
    expect(secrets).toEqual([]);
    expect(await toolsOf(line, elsewhere)).toHaveLength(4);
    rmSync(elsewhere, { recursive: true });
  }, 30_000);

  test('ends with all that it started when it is told to', async () => {
    await programs.stop();
    expect(programs.process.exitCode).toBe(0);
    for (const url of [programs.url, programs.mcp_url, `http://127.0.0.1:${programs.agent_port}`]) {
      expect(await fetch(url).then(String, () => 'gone')).toBe('gone');
    }
  }, 20_000);
});
