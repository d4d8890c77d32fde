import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { denoCommand } from '#test/support/deno.ts';
import { type Programs, removeFolder, startPrograms, until } from '#test/support/programs.ts';

/** One server, a host on Bun and one on Deno. */
const ROOT = join(import.meta.dir, '../..');
const SECRET = 'r'.repeat(16) + '0123456789abcdefg';
const DEPLOYS = 5;
const CALLERS = 3;

interface Status {
  readonly snapshot_version: number;
  readonly hosts: readonly { readonly id: string; readonly url: string; readonly snapshot_version: number | null }[];
}
interface Receipt {
  readonly snapshot_version: number;
  readonly hosts: readonly { readonly acked_ms: number | null; readonly error: string | null }[];
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-two-runtimes-'));
const shared = {
  SVC_ENV: 'dev',
  SVC_ENCRYPTION_KEY: SECRET,
  SVC_JWT_SECRET: SECRET,
  SVC_AGENT_SERVICE_TOKEN: SECRET,
  SVC_SQLITE_DIR: join(folder, 'databases'),
  // Each host of the one machine takes a free port.
  SVC_FASTMCP_PORT: '0',
};
let server: Programs;
const hosts: Bun.Subprocess[] = [];
let urls: string[] = [];

function startHost(name: string, command: readonly string[]): void {
  const data = join(folder, name);
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], ...shared, SVC_SERVER_URL: server.url, SVC_DATA_DIR: data };
  hosts.push(Bun.spawn([...command], { cwd: ROOT, env, stdout: 'ignore', stderr: 'inherit' }));
}

async function search(url: string): Promise<string> {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'search_products', arguments: { text: 'l', limit: 3 } },
    }),
  });
  return `${response.status} ${await response.text()}`;
}

beforeAll(async () => {
  server = await startPrograms({ role: 'server', env: { ...shared, SVC_DEMO: 'true' } });
  await until(
    () => server.output().includes('curl'),
    30_000,
    () => server.output(),
  );
  await server.signIn();
  startHost('on-bun', [process.execPath, 'mcp-host/main.ts']);
  startHost('on-deno', denoCommand('mcp-host/main.ts'));
  const patience = 30_000;
  await until(
    async () => {
      const { hosts: rows, snapshot_version } = await server.api<Status>('GET', '/deploy/status');
      urls = rows.filter((row) => row.snapshot_version === snapshot_version).map(({ url }) => url);
      return urls.length === 2;
    },
    patience,
    () => server.output(),
  );
}, 90_000);
afterAll(async () => {
  for (const host of hosts) {
    host.kill('SIGKILL');
    await host.exited;
  }
  await server.stop();
  removeFolder(server);
  rmSync(folder, { recursive: true, force: true });
});

describe('a host on Bun and a host on Deno', () => {
  test('give the same answers', async () => {
    const [one, other] = await Promise.all(urls.map(search));
    expect(one).toStartWith('200 ');
    expect(one).toContain('"rows"');
    expect(other).toBe(one ?? '');
  });

  test('take every deploy without losing a call', async () => {
    const expected = await search(urls[0] ?? '');
    const end = new AbortController();
    const calls = urls.map(() => 0);
    const lost: string[] = [];
    const load = urls.flatMap((url, index) =>
      Array.from({ length: CALLERS }, async () => {
        while (!end.signal.aborted) {
          const said = await search(url).catch(String);
          // The version that answered is all that may differ.
          if (said.startsWith('200 ') && said.includes('"rows"') && !said.includes('isError'))
            calls[index] = (calls[index] ?? 0) + 1;
          else lost.push(said);
        }
      }),
    );
    for (let number = 1; number <= DEPLOYS; number++) {
      await server.api('PATCH', '/server/config', { server_name: `Shop ${number}` });
      const { hosts: acks } = await server.api<Receipt>('POST', '/deploy', {});
      expect(acks.map(({ error }) => error)).toEqual([null, null]);
      expect(acks.every(({ acked_ms }) => acked_ms !== null)).toBe(true);
      await Bun.sleep(100);
    }
    end.abort();
    await Promise.all(load);
    expect(lost).toEqual([]);
    expect(Math.min(...calls)).toBeGreaterThan(DEPLOYS);
    expect(await Promise.all(urls.map(search))).toEqual([expected, expected]);
  }, 60_000);
});
