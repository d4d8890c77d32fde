import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '#test/support/free-port.ts';
import { measureTree, pidsBelow } from './machine.ts';
import { firstTools, type Offer, type Target } from './target.ts';
import { type BenchDatabase, numbered } from './workload.ts';

/** Other servers that make tools of SQL, pinned; they are no dependencies of the product. */
const PACKAGES = { toolbox: '@toolbox-sdk/server@1.12.0', dbhub: '@bytebase/dbhub@1.4.0' };
export type Peer = keyof typeof PACKAGES;

const CACHE = join(tmpdir(), 'sluice-bench-peers');

/** Folder with the packages: `SLUICE_BENCH_PEERS`, or a cache that is filled once. Null, with the reason said, when they cannot be had. */
export async function findPeers(say: (text: string) => void): Promise<string | null> {
  const given = process.env['SLUICE_BENCH_PEERS'];
  for (const folder of [given, CACHE]) if (folder !== undefined && existsSync(toolboxAt(folder))) return folder;
  say(`Fetching ${Object.values(PACKAGES).join(' and ')} into ${CACHE}.`);
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(join(CACHE, 'package.json'), '{"private":true}');
  const child = Bun.spawn([process.execPath, 'add', '--exact', ...Object.values(PACKAGES)], {
    cwd: CACHE,
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const said = await new Response(child.stderr).text();
  if ((await child.exited) === 0 && existsSync(toolboxAt(CACHE))) return CACHE;
  say(`The other servers could not be fetched, so they are left out: ${said.trim().split('\n').at(-1) ?? ''}`);
  return null;
}

const toolboxAt = (folder: string): string =>
  join(folder, `node_modules/@toolbox-sdk/server-${process.platform}-${process.arch}/bin/toolbox`);
const dbhubAt = (folder: string): string => join(folder, 'node_modules/@bytebase/dbhub/dist/index.js');

export async function startPeer(peer: Peer, folder: string, database: BenchDatabase, offer: Offer): Promise<Target> {
  return peer === 'toolbox' ? startToolbox(folder, database, offer) : startDbhub(folder, database, offer);
}

async function startToolbox(folder: string, database: BenchDatabase, offer: Offer): Promise<Target> {
  const { host, port, name, user } = database;
  const config = {
    sources: {
      bench: { kind: 'postgres', host, port, database: name, user, password: 'none', queryParams: { sslmode: 'disable' } },
    },
    tools: Object.fromEntries(
      toolsOf(offer).map(({ name, description, sql, argument }) => [
        name,
        {
          kind: 'postgres-sql',
          source: 'bench',
          description,
          statement: sql,
          parameters: [{ name: argument, type: 'integer', description: 'First order' }],
        },
      ]),
    ),
  };
  const free = freePort();
  const arguments_ = ['--port', String(free), '--disable-reload', '--disable-version-check', '--log-level', 'ERROR'];
  return start({
    name: 'Toolbox',
    // JSON is YAML.
    file: { name: 'tools.yaml', text: JSON.stringify(config) },
    command: (path) => [toolboxAt(folder), '--config', path, ...arguments_],
    url: `http://127.0.0.1:${free}/mcp`,
  });
}

async function startDbhub(folder: string, database: BenchDatabase, offer: Offer): Promise<Target> {
  const { host, port, name, user } = database;
  const quoted = JSON.stringify;
  const tables = toolsOf(offer).map(
    ({ name, description, sql, argument }) => `
[[tools]]
name = ${quoted(name)}
source = "bench"
description = ${quoted(description)}
statement = ${quoted(sql)}
readonly = true
max_rows = 100000
[[tools.parameters]]
name = ${quoted(argument)}
type = "integer"
description = "First order"
`,
  );
  const source = `[[sources]]\nid = "bench"\ndsn = "postgres://${user}:none@${host}:${port}/${name}?sslmode=disable"\n`;
  const free = freePort();
  return start({
    name: 'DBHub',
    file: { name: 'dbhub.toml', text: [source, ...tables].join('') },
    command: (path) => [nodeOrBun(), dbhubAt(folder), '--transport', 'http', '--port', String(free), '--config', path],
    url: `http://127.0.0.1:${free}/mcp`,
  });
}

/** DBHub wants Node 22.5; an older one is passed over for Bun. */
function nodeOrBun(): string {
  const node = Bun.which('node');
  if (node === null) return process.execPath;
  const version = /^v(\d+)\.(\d+)/.exec(Bun.spawnSync([node, '--version']).stdout.toString());
  const is_new = Number(version?.[1]) * 100 + Number(version?.[2]) >= 2_205;
  return is_new ? node : process.execPath;
}

const toolsOf = ({ tools, filler = 0 }: Offer) => [
  ...tools.map(({ name, title, sql }) => ({ name, description: `Orders: ${title}`, sql: numbered(sql), argument: 'start' })),
  ...Array.from({ length: filler }, (_, n) => ({
    name: `filler_${n}`,
    description: `Orders of the customer, variation ${n}`,
    sql: `select id, amount from orders where customer_id = $1 and ${n} = ${n} limit 10`,
    argument: 'customer',
  })),
];

interface Start {
  readonly name: string;
  readonly file: { readonly name: string; readonly text: string };
  readonly command: (path: string) => string[];
  readonly url: string;
}

const HEADERS = { 'mcp-protocol-version': '2025-06-18' };

async function start({ name, file, command, url }: Start): Promise<Target> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-peer-'));
  const path = join(folder, file.name);
  writeFileSync(path, file.text);
  const child = Bun.spawn(command(path), { cwd: folder, stdout: 'ignore', stderr: 'pipe' });
  let said = '';
  void (async () => {
    for await (const chunk of child.stderr) said = `${said}${Buffer.from(chunk).toString()}`.slice(-2_000);
  })();
  await firstTools({ url, headers: HEADERS }, performance.now(), () => said);
  return {
    name,
    url,
    headers: HEADERS,
    measure: () => measureTree(pidsBelow(child.pid)),
    async stop() {
      child.kill();
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
