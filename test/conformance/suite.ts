import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url));

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}
/** The checks of each scenario that ran. */
export type Outcome = ReadonlyMap<string, readonly Check[]>;

/** Runs the official suite against a server. @param selection which scenarios, as the suite's own options. */
export async function runSuite(url: string, selection: readonly string[]): Promise<Outcome> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-conformance-'));
  try {
    const suite = Bun.spawn([process.execPath, PROGRAM, 'server', '--url', url, '-o', directory, ...selection], {
      cwd: directory,
      env: { PATH: process.env['PATH'] ?? '' },
      stdout: 'ignore',
      stderr: 'pipe',
    });
    const said = await new Response(suite.stderr).text();
    await suite.exited;
    const folders = readdirSync(directory).filter((name) => name.startsWith('server-'));
    if (folders.length === 0) throw new Error(`The suite ran no scenario. ${said}`);
    return new Map(folders.map((name) => [scenarioOf(name), checksIn(join(directory, name))]));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** A folder is named `server-<scenario>-<time>`. */
const scenarioOf = (folder: string): string => folder.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
const checksIn = (folder: string): Check[] => JSON.parse(readFileSync(join(folder, 'checks.json'), 'utf8')) as Check[];

export const failuresOf = (checks: readonly Check[] = []): Check[] => checks.filter(({ status }) => status === 'FAILURE');
