import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { isServed } from '#test/support/one-command.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';

/** `npm start` as the README has it, in this checkout. */
const ROOT = join(import.meta.dir, '../..');
const started: Programs[] = [];
async function start(): Promise<Programs> {
  const env = { HOME: process.env['HOME'] ?? '', npm_config_update_notifier: 'false' };
  const programs = await startPrograms({ command: ['npm', '--prefix', ROOT, 'start'], env });
  started.push(programs);
  await programs.demo();
  return programs;
}
// Nothing to do, unless the interface has changed since it was built.
beforeAll(() => {
  expect(Bun.spawnSync([process.execPath, 'launch.mjs', 'build'], { cwd: ROOT }).exitCode).toBe(0);
}, 120_000);
afterAll(() => started.forEach(removeFolder));

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'npm start ends with all that it started by %s',
  async (signal) => {
    const programs = await start();
    expect(await isServed(programs)).toBe(true);
    await programs.stop(signal);
    await until(async () => !(await isServed(programs)), programs.output);
  },
  60_000,
);
