import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const PLATFORMS = join(import.meta.dir, '../../node_modules/@deno');

/** The Deno that the packages bring; its install script need not have run. */
export const deno = (): string =>
  join(PLATFORMS, readdirSync(PLATFORMS)[0] ?? '', process.platform === 'win32' ? 'deno.exe' : 'deno');

/** Runs a program with everything allowed, as the documentation says. */
export const denoCommand = (program: string, ...args: string[]): string[] => [deno(), 'run', '-A', '--no-lock', program, ...args];

/** The tests of hosts run a second time with their hosts on Deno (`test/runner/run.ts`). */
export const on_deno = process.env['TEST_HOST'] === 'deno';

/** What starts a program of the host: on Bun, or on Deno where the tests are run that way. */
export const hostCommand = (program: string, ...args: string[]): string[] =>
  on_deno ? denoCommand(program, ...args) : [process.execPath, program, ...args];
