import { expect } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The guides of `docs/`, and a reader who types what stands there. */
export const ROOT = join(import.meta.dir, '../..');
export const guide = (name: string): string => readFileSync(join(ROOT, 'docs', name), 'utf8');

/** The blocks of one language of a guide, in their order. Indented ones belong to a list. */
export const blocks = (name: string, language = 'sh'): string[] =>
  [...guide(name).matchAll(new RegExp(`^( *)\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\``, 'gm'))].map(
    ([, indent = '', text = '']) => text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );

/** The block of a guide that has a text in it. */
export function block(name: string, holding: string, language = 'sh'): string {
  const found = blocks(name, language).filter((text) => text.includes(holding));
  expect({ name, holding, found: found.length }).toEqual({ name, holding, found: 1 });
  return found[0] ?? '';
}

/** What every guide after the first one uses. */
const FUNCTIONS = block('first-tool.md', 'call() {');

export interface Reader {
  readonly folder: string;
  readonly env: Record<string, string>;
  /** What stands in the guide → what it is here, such as an address. */
  readonly places: Record<string, string>;
  /** Types the commands in one shell; answers with all that they said. Fails when one of them does. */
  follow(script: string, env?: Record<string, string>): Promise<string>;
  /** The answer of the server to one request, such as `GET /tools`. */
  ask<Answer = unknown>(request: string): Promise<Answer>;
  run(script: string, env?: Record<string, string>): Promise<{ code: number; out: string; err: string }>;
  /** The commands as a program that goes on, in the words of this machine. */
  command(script: string): string[];
  remove(): void;
}

/** A new user: an empty folder, `sluice` and `bun` on the PATH, and nobody's settings. */
export function newReader(): Reader {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-guide-'));
  const bin = join(folder, 'bin');
  Bun.spawnSync(['mkdir', bin]);
  writeFileSync(join(bin, 'sluice'), `#!/bin/sh\nexec "${process.execPath}" "${join(ROOT, 'server/sluice.ts')}" "$@"\n`, {
    mode: 0o755,
  });
  symlinkSync(process.execPath, join(bin, 'bun'));
  const env: Record<string, string> = {
    PATH: `${bin}:${process.env['PATH'] ?? ''}`,
    HOME: folder,
    SVC_ENV: 'dev',
    SVC_KV: 'memory',
  };
  const places: Record<string, string> = {};
  const here = (script: string): string =>
    Object.entries(places).reduce((text, [there, place]) => text.replaceAll(there, place), script);
  const run = async (script: string, more: Record<string, string> = {}) => {
    const child = Bun.spawn(['sh', '-eu', '-c', here(`${FUNCTIONS}\n${script}`)], {
      cwd: folder,
      env: { ...env, ...more },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { code: await child.exited, out, err };
  };
  const follow = async (script: string, more?: Record<string, string>) => {
    const { code, out, err } = await run(script, more);
    if (code !== 0) throw new Error(`The commands ended with ${code}: ${err}\n${out}`);
    return out;
  };
  return {
    folder,
    env,
    places,
    run,
    follow,
    ask: async (request) => JSON.parse(await follow(`call ${request}`)),
    // The program itself is what is ended, not the shell.
    command: (script) => ['env', `PATH=${env['PATH']}`, 'sh', '-eu', '-c', here(script).replace(/^sluice \w+$/m, 'exec $&')],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** `NAME=value` of a script with the value that it has here. */
export const filled = (script: string, values: Readonly<Record<string, string | undefined>>): string =>
  script.replaceAll(/\b([A-Z][A-Z_]+)=(\S+)/g, (whole, name: string) =>
    values[name] === undefined ? whole : `${name}=${values[name]}`,
  );
