import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { foreignFolder, stdioLine, toolsOf } from '#test/support/stdio-line.ts';

const PROGRAM = join(import.meta.dir, '../../mcp-host/stdio.ts');
const DEMO = ['get_customer', 'list_orders', 'sales_by_category', 'search_products', 'spending_per_month'];

let programs: Programs;
/** Somebody's project: its own settings of Bun and its own environment file are not ours. */
let elsewhere: string;
beforeAll(async () => {
  elsewhere = foreignFolder();
  writeFileSync(join(elsewhere, '.env'), 'SVC_DATA_DIR=/nowhere\nSVC_FASTMCP_PORT=nonsense\n');
  programs = await startPrograms();
  await programs.demo();
  await programs.signIn();
}, 60_000);
afterAll(async () => {
  await programs.stop();
  removeFolder(programs);
  rmSync(elsewhere, { recursive: true });
});

describe('the stdio line', () => {
  test('as the UI prints it works from another folder, without an environment and without Bun on the PATH', async () => {
    const { line, secrets } = await stdioLine(programs);
    expect(secrets).toEqual([]);
    expect(await toolsOf(line, elsewhere)).toEqual(DEMO);
  }, 60_000);

  test('typed by hand finds the installation of the current folder', async () => {
    const home = join(elsewhere, 'home');
    mkdirSync(home);
    symlinkSync(programs.directory, join(home, 'data'));
    const env = { SVC_ALLOW_PRIVATE_NETWORKS: 'true' };
    expect(await toolsOf({ command: process.execPath, args: [PROGRAM], env }, home)).toEqual(DEMO);
  }, 60_000);
});
