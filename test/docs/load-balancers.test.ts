import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { modern } from '#test/mcp-host/support.ts';
import { freePort } from '#test/support/free-port.ts';
import { networkSpace, type NetworkSpace } from '#test/support/network-spaces.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { caddy, haproxy, nginx, type Proxy, startProxy } from '#test/support/proxies.ts';
import { until } from '#test/support/until.ts';
import { block, guide, ROOT } from './guide.ts';

/** The configurations of load-balancer.md, in front of hosts that are restarted one after the other under load. */

const PORT = 8080;
const SECRET = 'l'.repeat(16) + '0123456789abcdefg';
/** As the guide says. */
const DELAY = { SVC_SHUTDOWN_DELAY_MS: /SVC_SHUTDOWN_DELAY_MS=(\d+)/.exec(guide('load-balancer.md'))?.[1] ?? '' };
const CALLERS = 4;
const PAUSE_MS = 20;
/** One or two in five of fourteen runs, none in the others. */
const MOST_RESETS = 4;

const spaces = [201, 202].map(networkSpace);
const [one = null, two = null] = spaces;
const can_run = one !== null && two !== null;

interface Host {
  readonly space: NetworkSpace;
  readonly data: string;
  process: Bun.Subprocess;
}

let programs: Programs;
let hosts: Host[] = [];

const isReady = async ({ space }: Host) =>
  (await fetch(`http://${space.address}:${PORT}/readyz`, { signal: AbortSignal.timeout(1_000) })).ok;

function start(space: NetworkSpace, data: string): Bun.Subprocess {
  return Bun.spawn(space.command([process.execPath, 'mcp-host/main.ts']), {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'] ?? '',
      SVC_ENV: 'dev',
      SVC_SERVER_URL: `http://${space.outside}:${programs.port}`,
      SVC_BIND: '0.0.0.0',
      SVC_FASTMCP_PORT: String(PORT),
      SVC_DATA_DIR: data,
      SVC_SQLITE_DIR: join(programs.directory, 'databases'),
      SVC_ENCRYPTION_KEY: SECRET,
      SVC_AGENT_SERVICE_TOKEN: SECRET,
      ...DELAY,
    },
    stdout: 'ignore',
    stderr: 'ignore',
  });
}

describe.skipIf(!can_run)('two hosts (needs network namespaces)', () => {
  beforeAll(async () => {
    const secrets = { SVC_ENCRYPTION_KEY: SECRET, SVC_JWT_SECRET: SECRET, SVC_AGENT_SERVICE_TOKEN: SECRET };
    programs = await startPrograms({ role: 'server', env: { ...secrets, SVC_BIND: '0.0.0.0', SVC_ALLOWED_HOSTS: '*' } });
    await programs.signIn();
    await until(() => programs.output().includes('curl'), programs.output);
    await programs.api('PATCH', '/server/config', { host: '0.0.0.0', port: PORT });
    await programs.api('POST', '/deploy', {});
    hosts = [one!, two!].map((space) => {
      const data = mkdtempSync(join(tmpdir(), 'sluice-host-'));
      return { space, data, process: start(space, data) };
    });
    for (const host of hosts) await until(() => isReady(host), programs.output);
  }, 90_000);
  afterAll(async () => {
    for (const { process: host, data } of hosts) {
      host.kill('SIGKILL');
      await host.exited;
      rmSync(data, { recursive: true, force: true });
    }
    await programs?.stop();
    removeFolder(programs);
    for (const space of spaces) space?.remove();
  }, 30_000);

  /** The text of a guide for this machine. */
  const here = (text: string, port: number): string =>
    text.replaceAll('10.0.0.1', one!.address).replaceAll('10.0.0.2', two!.address).replaceAll('8000', String(port));

  /** Calls without a pause while each host is restarted. @returns what did not answer. */
  async function restartUnderLoad(url: URL): Promise<{ calls: number; lost: string[] }> {
    let calls = 0;
    const load = new AbortController();
    const lost: string[] = [];
    const caller = async () => {
      while (!load.signal.aborted) {
        calls += 1;
        const answer = await modern(url, 'tools/call', { name: 'search_products', arguments: { text: 'l', limit: 3 } }).catch(
          String,
        );
        if (typeof answer === 'string') lost.push(answer);
        else if (answer.status !== 200 || answer.body.result?.['isError'] === true)
          lost.push(`${answer.status} ${JSON.stringify(answer.body).slice(0, 200)}`);
        await Bun.sleep(PAUSE_MS);
      }
    };
    const callers = Array.from({ length: CALLERS }, caller);
    for (const host of hosts) {
      await Bun.sleep(2_000);
      host.process.kill('SIGTERM');
      await host.process.exited;
      host.process = start(host.space, host.data);
      await until(() => isReady(host));
    }
    await Bun.sleep(2_000);
    load.abort();
    await Promise.all(callers);
    return { calls, lost };
  }

  /** @param most_resets connections that the closing listener of a host may reset, where the balancer has no health checks. */
  async function losesNothing(name: string, proxy: Proxy, port: number, most_resets = 0): Promise<void> {
    const url = new URL(`http://127.0.0.1:${port}/mcp`);
    try {
      await until(async () => (await fetch(new URL('/livez', url))).ok);
      const { calls, lost } = await restartUnderLoad(url);
      process.stdout.write(`${name}: ${lost.length} of ${calls} calls were lost while two hosts were restarted.\n`);
      // nginx answers a reset with a page.
      const resets = lost.filter((answer) => answer.includes("Unrecognized token '<'"));
      expect(lost.length).toBe(most_resets === 0 ? 0 : resets.length);
      expect(resets.length).toBeLessThanOrEqual(most_resets);
      expect(calls).toBeGreaterThan(100);
    } finally {
      await proxy.stop();
    }
  }

  test.skipIf(nginx === null)(
    'nginx loses a call at most where a listener closes, while hosts are restarted (needs nginx)',
    async () => {
      const port = freePort();
      const server = here(block('load-balancer.md', 'upstream mcp', 'nginx'), port);
      const shared = block('load-balancer.md', 'proxy_buffering off', 'nginx');
      const proxy = await startProxy(
        nginx ?? '',
        (directory) => {
          writeFileSync(join(directory, 'mcp-proxy.conf'), shared);
          const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
            (kind) => `${kind}_temp_path ${directory}/${kind};`,
          );
          const http = `${paths.join('\n')}\n${server.replaceAll('/etc/nginx/', `${directory}/`)}`;
          return `daemon off;\npid ${directory}/nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${http}\n}\n`;
        },
        (file) => ['-c', file, '-e', 'stderr'],
      );
      await losesNothing('nginx', proxy, port, MOST_RESETS);
    },
    120_000,
  );

  test.skipIf(haproxy === null)(
    'HAProxy loses no call while hosts are restarted (needs haproxy)',
    async () => {
      const port = freePort();
      const config = here(block('load-balancer.md', 'backend hosts', 'haproxy'), port);
      const proxy = await startProxy(
        haproxy ?? '',
        () => config,
        (file) => ['-f', file, '-db'],
      );
      await losesNothing('HAProxy', proxy, port);
    },
    120_000,
  );

  test.skipIf(caddy === null)(
    'Caddy loses no call while hosts are restarted (needs caddy)',
    async () => {
      const port = freePort();
      const config = here(block('load-balancer.md', 'reverse_proxy', 'caddy'), port);
      const proxy = await startProxy(
        caddy ?? '',
        () => `{\n\tadmin off\n}\n${config}`,
        (file) => ['run', '--config', file, '--adapter', 'caddyfile'],
      );
      await losesNothing('Caddy', proxy, port);
    },
    120_000,
  );
});
