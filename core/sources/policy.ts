import { join } from 'node:path';
import { type Env, redisUrl } from '#core/env.ts';
import type { DialPolicy } from './source.ts';

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
  const ports = [env.SVC_PORT, env.SVC_SSL_PORT, env.SVC_FASTMCP_PORT, env.SVC_AGENT_MCP_PORT].filter((port) => port !== 0);
  return {
    forbidden_files: [metadata, `${metadata}-wal`, join(env.SVC_DATA_DIR, 'dev-secrets.json')],
    allow_private_networks: env.SVC_ALLOW_PRIVATE_NETWORKS,
    sqlite_dir: env.SVC_SQLITE_DIR,
    forbidden: [...own, ...ports.map((port) => ({ host: 'localhost', port }))],
  };
}
