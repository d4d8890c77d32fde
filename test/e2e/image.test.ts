import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectClient } from '#test/support/mcp-clients.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';

/** The steps of the Dockerfile in a clean folder: what COPY brings and RUN makes is all that the program finds. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LATER = new Set(['LABEL', 'ENV', 'VOLUME', 'USER', 'EXPOSE', 'STOPSIGNAL', 'HEALTHCHECK', 'CMD']);

const folder = mkdtempSync(join(tmpdir(), 'sluice-image-'));
const tools = join(folder, 'tools');
let app = '';
let programs: Programs;

/** Instructions, with continued lines joined. */
function instructions(text: string): { word: string; rest: string }[] {
  const lines = text.replaceAll(/\\\n\s*/g, ' ').split('\n');
  return lines
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => ({ word: line.split(' ')[0] ?? '', rest: line.replace(/^\S+\s+/, '') }));
}

/** The context of the build: what git knows or would add, less what .dockerignore names. */
function context(): string[] {
  const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n').filter(Boolean);
  return readdirSync(ROOT).filter((name) => !ignored.includes(name) && !name.endsWith('.log'));
}

async function build(): Promise<void> {
  const stages = new Map<string, string>();
  let root = '';
  let work = '';
  for (const { word, rest } of instructions(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'))) {
    if (LATER.has(word)) continue;
    if (word === 'FROM') {
      root = join(folder, `stage-${stages.size}`);
      stages.set(/ AS (\w+)/.exec(rest)?.[1] ?? 'last', root);
    } else if (word === 'WORKDIR') {
      work = join(root, rest);
      mkdirSync(work, { recursive: true });
    } else if (word === 'COPY') copy(rest.split(' '), stages, work);
    else if (word === 'RUN') await run(rest.replaceAll('/data', join(root, 'data')), work);
    else throw new Error(`The Dockerfile has an instruction that this test does not know: ${word}`);
  }
  app = work;
}

function copy(words: string[], stages: ReadonlyMap<string, string>, work: string): void {
  const from = /^--from=(\w+)$/.exec(words[0] ?? '')?.[1];
  const paths = from === undefined ? words : words.slice(1);
  const target = paths.at(-1) ?? '';
  for (const source of paths.slice(0, -1)) {
    if (source === '.') {
      for (const name of context()) {
        cpSync(join(ROOT, name), join(work, name), { recursive: true, filter: (path) => !path.endsWith('/ui/dist') });
      }
      continue;
    }
    const path = from === undefined ? join(ROOT, source) : join(stages.get(from) ?? '', source);
    const into = target.endsWith('/') ? join(work, target, basename(source)) : join(work, target);
    mkdirSync(dirname(into), { recursive: true });
    cpSync(path, into, { recursive: true });
  }
}

async function run(script: string, cwd: string): Promise<void> {
  // There is no user of the image here.
  const local = script.replace(/ && chown -R bun:bun \S+/, '');
  const child = Bun.spawn(['sh', '-ec', local], {
    cwd,
    env: { ...process.env, PATH: `${tools}:/usr/bin:/bin` },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`RUN ${script}\n${output}${errors}`);
}

beforeAll(async () => {
  mkdirSync(tools);
  symlinkSync(process.execPath, join(tools, 'bun'));
  await build();
}, 240_000);

afterAll(async () => {
  await programs?.stop();
  if (programs) removeFolder(programs);
  rmSync(folder, { recursive: true, force: true });
});

test('the image holds what runs and nothing else', () => {
  const inside = readdirSync(app).toSorted();
  expect(inside).toEqual(
    [
      'LICENSE',
      'agent',
      'bunfig.toml',
      'core',
      'mcp-host',
      'node_modules',
      'package.json',
      'server',
      'snapshots',
      'ui',
    ].toSorted(),
  );
  for (const name of ['vite', 'typescript', 'solid-js', 'playwright-core', 'bun', 'oxlint']) {
    expect({ name, there: existsSync(join(app, 'node_modules', name)) }).toEqual({ name, there: false });
  }
});

test('its command serves the interface and a deployed tool', async () => {
  programs = await startPrograms({ command: [process.execPath, join(app, 'server/main.ts')] });
  await programs.demo();
  expect(await (await fetch(programs.url)).text()).toContain('/assets/');
  const client = await connectClient('v2', programs.mcp_url);
  expect((await client.call('get_customer', { email: 'ada@example.com' })).structuredContent).toMatchObject({
    row: { name: 'Ada' },
  });
  await client.close();
}, 60_000);
