import { join } from 'node:path';
import { pathOfFileUrl } from '#core/lib/file-url.ts';
import { type Env, redisUrl } from '#core/process/env.ts';
import type { DialPolicy, InstallationAddress } from './source.ts';

/** The addresses that this installation may dial. Its ports, its Redis and its metadata database are always forbidden. */
export function dialPolicy(env: Env): DialPolicy {
  const redis = env.SVC_KV === 'redis' ? redisUrl(env) : null;
  const databases = [...new Set([env.SVC_DATABASE_URL, env.SVC_REDIS_URL, env.REDIS_URL, redis])].flatMap((text) => {
    if (text === null || pathOfFileUrl(text) !== null) return [];
    const url = new URL(text);
    const is_redis = url.protocol.startsWith('redis');
    // A PostgreSQL URL without a database uses the user's name. Without either, the whole server is forbidden.
    const database = is_redis ? '' : decodeURIComponent(url.pathname.slice(1) || url.username);
    const port = Number(url.port || (is_redis ? 6379 : 5432));
    return [{ host: url.hostname, port, ...(database === '' ? {} : { database }) }];
  });
  const metadata = pathOfFileUrl(env.SVC_DATABASE_URL ?? '') ?? join(env.SVC_DATA_DIR, 'sluice.sqlite');
  const ports = [env.SVC_PORT, env.SVC_SSL_PORT, env.SVC_FASTMCP_PORT, env.SVC_AGENT_MCP_PORT];
  // For redirects and ACME challenges, see SVC_SSL_PORT.
  if (env.SVC_SSL_PORT === 443) ports.push(80);
  return {
    forbidden_files: [metadata, `${metadata}-wal`, join(env.SVC_DATA_DIR, 'dev-secrets.json')],
    allow_private_networks: env.SVC_ALLOW_PRIVATE_NETWORKS,
    sqlite_dir: env.SVC_SQLITE_DIR,
    cache_dir: join(env.SVC_DATA_DIR, 'file-cache'),
    forbidden: [
      ...databases,
      ...listening('localhost', ports),
      ...listening(env.SVC_FASTMCP_HOST, [env.SVC_FASTMCP_PORT]),
      ...[env.SVC_SERVER_URL, env.SVC_AGENT_MCP_URL].flatMap(addressOf),
    ],
  };
}

/**
 * The addresses on which the hosts of this installation listen: their configured ports, and the URLs that connected hosts report.
 */
export function hostAddresses(
  { SVC_FASTMCP_HOST }: Env,
  ports: readonly number[],
  urls: readonly (string | null)[] = [],
): readonly InstallationAddress[] {
  const connected = urls.flatMap(addressOf);
  const all = [...new Set([...ports, ...connected.map(({ port }) => port)])];
  return [...listening('localhost', all), ...listening(SVC_FASTMCP_HOST, all), ...connected];
}

/** With port 0 the system chooses a port. */
const listening = (host: string, ports: readonly number[]): InstallationAddress[] =>
  ports.filter((port) => port !== 0).map((port) => ({ host, port }));

function addressOf(text: string | null): InstallationAddress[] {
  if (text === null) return [];
  const { hostname, port, protocol } = new URL(text);
  return [{ host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || (protocol === 'https:' ? 443 : 80)) }];
}
