import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '#test/support/free-port.ts';
import { digits, median, table } from './report.ts';
import { JSON_TYPES } from './target.ts';

/**
 * From nothing but Node to the first answered tool call: `npm start` in a fresh checkout beside `npx file:<tarball>` in an empty folder,
 * in turns. `bun test/bench/cold.ts [rounds]`: once with empty caches of npm and Bun, so that everything comes from the registry, and then
 * so many times with the caches that this left. Each start ends after LONGEST_MS.
 */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LONGEST_MS = 180_000;
const TARGET = 1.5;
const CALL =
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_products","arguments":{"text":"l","limit":3}}}';

const rounds = Number(process.argv[2] ?? 2);
const folder = mkdtempSync(join(tmpdir(), 'sluice-cold-'));
/** Node and npm, and no Bun. */
const PATH = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((path) => !existsSync(join(path, 'bun')))
  .join(delimiter);
const say = (text: string): void => void process.stderr.write(`${text}\n`);

type Way = 'npm start' | 'npx';
/** @param home holds the caches of npm and Bun. */
async function start(way: Way, home: string, tarball: string): Promise<number> {
  const place = mkdtempSync(join(folder, 'start-'));
  if (way === 'npm start') await finish(['sh', '-c', `git archive HEAD | tar -x -C "${place}"`], { cwd: ROOT });
  const port = freePort();
  const mcp_port = freePort();
  const began = performance.now();
  const child = Bun.spawn(way === 'npm start' ? ['npm', 'start'] : ['npx', '--yes', `file:${tarball}`], {
    cwd: place,
    // In a group of its own, so that all of it is ended.
    detached: true,
    env: {
      ...passed(),
      PATH,
      HOME: home,
      SVC_DATA_DIR: join(place, 'data'),
      SVC_PORT: String(port),
      SVC_FASTMCP_PORT: String(mcp_port),
      SVC_AGENT_MCP_PORT: String(freePort()),
    },
    stdin: 'ignore',
    stdout: Bun.file(join(place, 'out.txt')),
    stderr: Bun.file(join(place, 'err.txt')),
  });
  try {
    while (performance.now() - began < LONGEST_MS && child.exitCode === null) {
      const answer = await fetch(`http://127.0.0.1:${mcp_port}/mcp`, { method: 'POST', headers: JSON_TYPES, body: CALL }).catch(
        () => null,
      );
      if (answer?.ok && (await answer.text()).includes('"rows"')) return performance.now() - began;
      await Bun.sleep(20);
    }
    const said = await Promise.all(['out.txt', 'err.txt'].map((name) => Bun.file(join(place, name)).text()));
    throw new Error(`${way} answered no call. ${said.join('\n').slice(-2_000)}`);
  } finally {
    child.kill('SIGTERM');
    await child.exited;
    rmSync(place, { recursive: true, force: true });
  }
}

/** Proxy, registry and trust of this machine, and nothing of its settings of Sluice. */
const passed = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value !== undefined &&
      /^(https?_proxy|no_proxy|node_extra_ca_certs|ssl_cert_file|npm_config_(registry|cafile))$/i.test(name)
        ? [[name, value]]
        : [],
    ),
  );

async function finish(command: readonly string[], options: { cwd: string }): Promise<void> {
  const child = Bun.spawn([...command], { ...options, stdout: 'ignore', stderr: 'pipe' });
  const said = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')}: ${said}`);
}

try {
  await finish(['npm', 'pack', '--pack-destination', folder], { cwd: ROOT });
  const tarball = join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '');
  const homes: Record<Way, string> = { 'npm start': join(folder, 'home-start'), npx: join(folder, 'home-npx') };
  for (const home of Object.values(homes)) mkdirSync(home);
  const rows: (string | number)[][] = [];
  const measure = async (label: string, times: number, prepare: (home: string) => void) => {
    const found: Record<Way, number[]> = { 'npm start': [], npx: [] };
    for (let round = 0; round < times; round++) {
      for (const way of round % 2 === 0 ? (['npm start', 'npx'] as const) : (['npx', 'npm start'] as const)) {
        prepare(homes[way]);
        const ms = await start(way, homes[way], tarball);
        say(`${label}: ${way} ${(ms / 1_000).toFixed(1)} s`);
        found[way].push(ms);
      }
    }
    const seconds = (way: Way) => median(found[way]) / 1_000;
    const ratio = seconds('npx') / seconds('npm start');
    rows.push([
      label,
      digits(seconds('npm start')),
      digits(seconds('npx')),
      `${digits(ratio)} ×`,
      ratio <= TARGET ? 'met' : '**missed**',
    ]);
  };
  await measure('empty caches', 1, () => {});
  // npx keeps what it unpacked for a tarball: a cold start finds packed packages alone.
  await measure('filled caches', rounds, (home) => rmSync(join(home, '.npm/_npx'), { recursive: true, force: true }));
  process.stdout.write(`${table(['start', 'npm start s', 'npx s', 'npx to npm start', `≤ ${TARGET} ×`], rows)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
