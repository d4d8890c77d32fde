import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Programs, startPrograms } from '#test/support/programs.ts';

const ROOT = join(import.meta.dir, '../..');
const guide = (name: string): string => readFileSync(join(ROOT, 'docs', name), 'utf8');
/** The commands of a guide, in their order. */
const blocks = (name: string): string[] => [...guide(name).matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, text = '']) => text);

let programs: Programs;
const folder = mkdtempSync(join(tmpdir(), 'sluice-guide-'));
beforeAll(async () => {
  programs = await startPrograms();
  writeFileSync(join(folder, 'sluice'), `#!/bin/sh\nexec "${process.execPath}" "${join(ROOT, 'server/cli.ts')}" "$@"\n`, {
    mode: 0o755,
  });
});
afterAll(async () => {
  await programs?.stop();
  rmSync(folder, { recursive: true });
});

/** Commands of a guide in the folder of a new user; the addresses are those of the test. */
async function run(script: string, env: Record<string, string> = {}) {
  const text = script.replaceAll('http://127.0.0.1:3000', programs.url).replaceAll('http://127.0.0.1:8080/mcp', programs.mcp_url);
  const child = Bun.spawn(['sh', '-eu', '-c', text], {
    cwd: folder,
    env: {
      PATH: `${folder}:${process.env['PATH'] ?? ''}`,
      SVC_ENV: 'dev',
      SVC_KV: 'memory',
      SVC_DATA_DIR: programs.directory,
      ...env,
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, out, err };
}

test('the first tool is created, deployed and called', async () => {
  const done = await run(blocks('first-tool.md').join('\n'));
  expect(done).toMatchObject({ code: 0 });
  expect(done.out).toContain('"structuredContent"');
  expect(done.out).not.toContain('"isError":true');
});

test('the configuration is pulled, planned and pushed', async () => {
  const made = await run(
    `curl -sS --fail-with-body -b cookies ${programs.url}/api/v1/agent-tokens -H 'content-type: application/json' -d '{"name":"ci","duration_minutes":15,"scopes":["read","write","deploy"]}'`,
  );
  expect(made).toMatchObject({ code: 0 });
  const [commands = ''] = blocks('files.md');
  const script = commands.replace('https://sluice.example.com', programs.url).replace('svc_…', JSON.parse(made.out).token);
  expect(await run(script, { EDITOR: 'test -s' })).toMatchObject({ code: 0 });
  expect(existsSync(join(folder, 'shop/tools/products_from.sql'))).toBe(true);
});

test('a backup is made while the server runs, and restored', async () => {
  const [backup = '', restore = ''] = blocks('backup.md');
  expect(await run(backup)).toMatchObject({ code: 0 });
  await programs.stop();
  expect(await run(restore)).toMatchObject({ code: 0 });
});

test('every guide is short, is linked from the README, and links to what is there', () => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  for (const name of readdirSync(join(ROOT, 'docs'))) {
    expect({ name, short: guide(name).split('\n').length <= 121 }).toEqual({ name, short: true });
    expect(readme).toContain(`](docs/${name})`);
    const links = [...guide(name).matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)].map(([, path = '']) => path);
    expect({ name, missing: links.filter((path) => !existsSync(join(ROOT, 'docs', path))) }).toEqual({ name, missing: [] });
  }
});
