import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { freePort } from '#test/support/free-port.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';
import { haproxy, nginx, startHaproxy, startNginx } from '#test/support/proxies.ts';

/** What stands in front of Sluice where people run it. */

const PUBLIC = 'https://sluice.example.com';
let programs: Programs;
let ports: { readonly server: number; readonly host: number; readonly agent: number };

beforeAll(async () => {
  programs = await startPrograms({ env: { SVC_PUBLIC_URL: PUBLIC, SVC_TRUSTED_PROXIES: '127.0.0.0/8' } });
  ports = { server: programs.port, host: Number(new URL(programs.mcp_url).port), agent: programs.agent_port };
  const isUp = async (port: number) => (await fetch(`http://127.0.0.1:${port}/livez`)).ok;
  await until(async () => (await isUp(ports.host)) && isUp(ports.agent), programs.output);
});
afterAll(async () => {
  await programs.stop();
  removeFolder(programs);
});

/** The status of an HTTP/1.0 request without a Host. */
const bare = (port: number, path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`GET ${path} HTTP/1.0\r\n\r\n`));
    let answer = '';
    socket.on('data', (data) => {
      answer += data.toString();
      const status = /^HTTP\/1\.\d (\d{3})/.exec(answer)?.[1];
      if (status === undefined) return;
      socket.destroy();
      resolve(Number(status));
    });
    socket.on('error', reject);
  });

test('probes are answered without a Host, and nothing else is', async () => {
  for (const [name, health, page] of [
    ['server', '/api/health', '/'],
    ['host', '/health', '/mcp'],
    ['agent', '/agent-mcp/health', '/agent-mcp/mcp'],
  ] as const) {
    for (const path of ['/livez', health]) expect([name, path, await bare(ports[name], path)]).toEqual([name, path, 200]);
    expect([200, 503]).toContain(await bare(ports[name], '/readyz'));
    for (const path of [page, '/api/v1/auth/status', '/.well-known/oauth-protected-resource'])
      expect([name, path, [400, 404].includes(await bare(ports[name], path))]).toEqual([name, path, true]);
    expect([name, await bare(ports[name], page)]).toEqual([name, 400]);
  }
});

test.skipIf(haproxy === null)(
  'HAProxy finds all three programs up, with the check that it sends by default (needs haproxy)',
  async () => {
    const checked = (name: keyof typeof ports) =>
      `backend ${name}\n  option httpchk GET /livez\n  server s 127.0.0.1:${ports[name]} check inter 200ms\n`;
    const proxy = await startHaproxy(haproxy ?? '', freePort(), checked('server') + checked('host') + checked('agent'));
    try {
      const found = { server: 'L7OK', host: 'L7OK', agent: 'L7OK' };
      await until(async () => Bun.deepEquals(await proxy.checks(), found), programs.output);
    } finally {
      await proxy.stop();
    }
  },
);

describe.skipIf(nginx === null)('a proxy that asks by another name (needs nginx)', () => {
  /** As Apache does by default, whose mod_proxy is told no more than where to. */
  const LIKE_APACHE = `proxy_set_header X-Forwarded-Host sluice.example.com;
    proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto https;`;

  async function behind(target: number, inner: string, work: (url: string) => Promise<void>): Promise<void> {
    const port = freePort();
    const url = `http://127.0.0.1:${port}`;
    const proxy = await startNginx(nginx ?? '', port, `http://127.0.0.1:${target}`, inner);
    try {
      await until(async () => (await fetch(`${url}/livez`)).ok);
      await work(url);
    } finally {
      await proxy.stop();
    }
  }
  const resourceOf = async (url: string, path: string) =>
    ((await (await fetch(`${url}/.well-known/oauth-protected-resource${path}`)).json()) as { resource: string }).resource;

  test('has metadata, challenges and pages of the public address', async () => {
    await behind(ports.server, LIKE_APACHE, async (url) => {
      expect(await resourceOf(url, '/agent-mcp')).toBe(`${PUBLIC}/agent-mcp`);
      const refused = await fetch(`${url}/agent-mcp`, { method: 'POST' });
      expect(refused.headers.get('www-authenticate')).toContain(`"${PUBLIC}/.well-known/oauth-protected-resource/agent-mcp"`);
      const body = JSON.stringify({ username: 'nobody', password: 'of this name' });
      const signIn = (origin: string) =>
        fetch(`${url}/api/v1/auth/login`, { method: 'POST', body, headers: { 'content-type': 'application/json', origin } });
      expect((await signIn(PUBLIC)).status).toBe(401);
      expect((await signIn('https://evil.example')).status).toBe(403);
    });
    await behind(ports.agent, LIKE_APACHE, async (url) =>
      expect(await resourceOf(url, '/agent-mcp')).toBe(`${PUBLIC}/agent-mcp`),
    );
  });

  test('that says no name leaves the public address, and a refused page learns what helps', async () => {
    await behind(ports.server, 'proxy_set_header X-Forwarded-For $remote_addr;', async (url) => {
      expect(await resourceOf(url, '/agent-mcp')).toBe(`${PUBLIC}/agent-mcp`);
      const refused = await fetch(`${url}/api/v1/auth/status`, { headers: { origin: PUBLIC } });
      expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('ProxyPreserveHost')]);
    });
  });
});
