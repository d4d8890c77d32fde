import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { type FaultProxy, openFaultProxy } from '#test/faults/fault-proxy.ts';
import { redisUrl, testDatabase, type TestDatabase } from './databases.ts';
import { freePort } from './free-port.ts';
import { type Programs, startPrograms } from './programs.ts';
import { until } from './until.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SECRET = 'c'.repeat(16) + '0123456789abcdefg';

/** A program of its own that is no server. */
export interface Member {
  readonly process: Bun.Subprocess;
  output(): string;
  kill(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

/** A team's installation on this machine: servers behind a balancer on one PostgreSQL and one Redis, agents, hosts. */
export interface Cluster {
  readonly servers: Programs[];
  /** What stands in front of the servers: each request goes to the next one. */
  readonly url: string;
  readonly redis: FaultProxy;
  readonly database: TestDatabase;
  startServer(again?: Programs): Promise<Programs>;
  /** @param env further variables of this host. */
  startHost(env?: Record<string, string>): Member;
  /** @returns its address too. */
  startAgent(): Promise<Member & { readonly url: string }>;
  stop(): Promise<void>;
}

type Starts = (env: Readonly<Record<string, string>>) => readonly string[];

/**
 * @param redis_db a database of Redis that no other test uses.
 * @param variables further ones of every program; `balanced` is the address in front of the servers.
 * @param commands what starts them instead, with the variables that they get.
 */
export async function startCluster(
  redis_db: number,
  variables: (balanced: string) => Record<string, string> = () => ({}),
  commands: { server?: Starts; host?: Starts } = {},
): Promise<Cluster> {
  const database = await testDatabase('postgresql');
  const direct = new Redis(`${redisUrl}/${redis_db}`);
  await direct.flushdb();
  const { hostname, port } = new URL(redisUrl);
  const redis = await openFaultProxy({ host: hostname, port: Number(port) });
  const folder = mkdtempSync(join(tmpdir(), 'sluice-cluster-'));
  const servers: Programs[] = [];
  const members: Member[] = [];
  const balancer = openBalancer(() => servers.filter((server) => server.process.exitCode === null && !server.process.killed));
  const url = `redis://127.0.0.1:${redis.port}/${redis_db}`;
  const shared = {
    SVC_ENV: 'dev',
    SVC_ENCRYPTION_KEY: SECRET,
    SVC_JWT_SECRET: SECRET,
    SVC_AGENT_SERVICE_TOKEN: SECRET,
    SVC_KV: 'redis',
    SVC_REDIS_URL: url,
    REDIS_URL: url,
    // Each host of the one machine takes a free port.
    SVC_FASTMCP_PORT: '0',
    SVC_MCP_PUBLIC_URL: 'http://127.0.0.1:9',
    SVC_SQLITE_DIR: join(folder, 'databases'),
    SVC_GENERATED_DIR: join(folder, 'generated'),
    ...variables(balancer.url),
  };
  const spawn = (file: string, own: Record<string, string>, starts: Starts = () => [process.execPath, file]): Member => {
    let printed = '';
    const env = { ...shared, SVC_SERVER_URL: balancer.url, SVC_DATA_DIR: mkdtempSync(join(folder, 'member-')), ...own };
    const child = Bun.spawn([...starts(env)], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'] ?? '', ...env },
      stdout: 'pipe',
      stderr: 'pipe',
    });
    for (const stream of [child.stdout, child.stderr]) {
      void (async () => {
        for await (const chunk of stream) printed += Buffer.from(chunk).toString();
      })();
    }
    const member: Member = {
      process: child,
      output: () => printed,
      async kill(signal = 'SIGTERM') {
        child.kill(signal);
        await child.exited;
      },
    };
    members.push(member);
    return member;
  };
  return {
    servers,
    url: balancer.url,
    redis,
    database,
    async startServer(again) {
      const env = { ...shared, SVC_DATABASE_URL: database.url, SVC_DEMO: String(servers.length === 0) };
      const command = commands.server?.(env);
      const starts = command === undefined ? { role: 'server' as const } : { command };
      const server = await startPrograms({ env, ...starts, ...(again && { again }) });
      if (again === undefined) servers.push(server);
      else servers[servers.indexOf(again)] = server;
      return server;
    },
    startHost: (env = {}) => spawn('mcp-host/main.ts', env, commands.host),
    async startAgent() {
      const agent_port = freePort();
      const agent = spawn('agent/main.ts', { SVC_AGENT_MCP_PORT: String(agent_port) });
      const agent_url = `http://127.0.0.1:${agent_port}`;
      await until(
        async () => (await fetch(`${agent_url}/livez`)).ok,
        () => agent.output(),
      );
      return { ...agent, url: agent_url };
    },
    async stop() {
      for (const member of members) await member.kill('SIGKILL');
      for (const server of servers) {
        await server.stop('SIGKILL');
        rmSync(server.directory, { recursive: true, force: true });
      }
      await balancer.stop();
      await redis.close();
      await direct.flushdb();
      direct.disconnect();
      rmSync(folder, { recursive: true, force: true });
      await database.drop();
    },
  };
}

/** A plain balancer: each request to the next server, or to another one when that cannot be reached. */
function openBalancer(targets: () => readonly Programs[]): { readonly url: string; stop(): Promise<void> } {
  /** By path, so that streams are divided among the servers whatever else is asked meanwhile. */
  const turns = new Map<string, number>();
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    error: () => new Response('lost', { status: 502 }),
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const body = request.body === null ? null : await request.arrayBuffer();
      for (const _ of targets()) {
        const now = targets();
        const turn = (turns.get(pathname) ?? 0) + 1;
        turns.set(pathname, turn);
        const target = now[turn % now.length];
        if (target === undefined) break;
        try {
          const { method, headers, signal } = request;
          return await fetch(`${target.url}${pathname}${search}`, { method, headers, body, redirect: 'manual', signal });
        } catch {
          // The next one.
        }
      }
      return new Response('no server', { status: 502 });
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) };
}
