import { join } from 'node:path';
import { type Env, redisUrl } from '#core/process/env.ts';
import type { DialPolicy, OwnAddress } from './source.ts';

/** What this installation may dial. Our own ports, Redis and metadata database are never a target (contract section 3). */
export function dialPolicy(env: Env): DialPolicy {
  const redis = env.SVC_KV === 'redis' ? redisUrl(env) : null;
  const own = [...new Set([env.SVC_DATABASE_URL, env.SVC_REDIS_URL, env.REDIS_URL, redis])].flatMap((text) => {
    if (text === null || text.startsWith('file:')) return [];
    const url = new URL(text);
    const is_redis = url.protocol.startsWith('redis');
    // PostgreSQL names the database of a URL without one like the user; without either, the whole server is ours.
    const database = is_redis ? '' : decodeURIComponent(url.pathname.slice(1) || url.username);
    const port = Number(url.port || (is_redis ? 6379 : 5432));
    return [{ host: url.hostname, port, ...(database === '' ? {} : { database }) }];
  });
  const metadata = env.SVC_DATABASE_URL?.startsWith('file:')
    ? env.SVC_DATABASE_URL.slice('file:'.length)
    : join(env.SVC_DATA_DIR, 'sluice.sqlite');
  const ports = [env.SVC_PORT, env.SVC_SSL_PORT, env.SVC_FASTMCP_PORT, env.SVC_AGENT_MCP_PORT];
  // Redirects and challenges, see SVC_SSL_PORT.
  if (env.SVC_SSL_PORT === 443) ports.push(80);
  return {
    forbidden_files: [metadata, `${metadata}-wal`, join(env.SVC_DATA_DIR, 'dev-secrets.json')],
    allow_private_networks: env.SVC_ALLOW_PRIVATE_NETWORKS,
    sqlite_dir: env.SVC_SQLITE_DIR,
    cache_dir: join(env.SVC_DATA_DIR, 'file-cache'),
    forbidden: [
      ...own,
      ...listening('localhost', ports),
      ...listening(env.SVC_FASTMCP_HOST, [env.SVC_FASTMCP_PORT]),
      ...[env.SVC_SERVER_URL, env.SVC_AGENT_MCP_URL].flatMap(addressOf),
    ],
  };
}

/** Where the hosts of an installation listen: on the port of their configuration, and where those that are connected say. */
export function hostAddresses(
  { SVC_FASTMCP_HOST }: Env,
  ports: readonly number[],
  urls: readonly (string | null)[] = [],
): readonly OwnAddress[] {
  const connected = urls.flatMap(addressOf);
  const all = [...new Set([...ports, ...connected.map(({ port }) => port)])];
  return [...listening('localhost', all), ...listening(SVC_FASTMCP_HOST, all), ...connected];
}

/** Port 0 is one that the system chooses. */
const listening = (host: string, ports: readonly number[]): OwnAddress[] =>
  ports.filter((port) => port !== 0).map((port) => ({ host, port }));

function addressOf(text: string | null): OwnAddress[] {
  if (text === null) return [];
  const { hostname, port, protocol } = new URL(text);
  return [{ host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || (protocol === 'https:' ? 443 : 80)) }];
}
