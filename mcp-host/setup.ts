import { mkdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Env } from '#core/env.ts';
import { acceptedHostNames } from '#core/security/origins.ts';
import type { Log } from '#core/log.ts';
import { createKeyring } from '#core/security/secrets.ts';
import { guardedFetch } from '#core/sources/dial.ts';
import { openSource } from '#core/sources/open.ts';
import { dialPolicy } from '#core/sources/policy.ts';
import { snapshotFile } from '#snapshots/file.ts';
import { tokenFile } from './auth/token-file.ts';
import type { HostOptions } from './host.ts';

/** What a host of this environment is made of, with its folder. */
export async function hostOptions(env: Env, log: Log): Promise<HostOptions> {
  const directory = join(env.SVC_DATA_DIR, 'host');
  await mkdir(directory, { recursive: true });
  // The host opens secrets and seals none, so it needs no key for fingerprints.
  const keyring = createKeyring(env.SVC_ENCRYPTION_KEY, new Uint8Array(32));
  const policy = dialPolicy(env);
  const boot_id = crypto.randomUUID();
  return {
    // Two hosts on one machine are two hosts.
    id: `${hostname()}-${boot_id.slice(0, 8)}`,
    boot_id,
    server_url: env.SVC_SERVER_URL ?? `http://127.0.0.1:${env.SVC_PORT}`,
    service_token: env.SVC_AGENT_SERVICE_TOKEN,
    address: { host: env.SVC_BIND, port: env.SVC_FASTMCP_PORT },
    allowed_hosts: [...acceptedHostNames(env)],
    openSource: (settings) => openSource(settings, policy),
    openSecret: (sealed, place) => keyring.open(sealed, place),
    staleSecret: (sealed) => keyring.stale(sealed),
    file: snapshotFile(join(directory, 'snapshot.json')),
    auth: {
      tokens: tokenFile(join(directory, 'tokens.json')),
      keys: env.SVC_ENCRYPTION_KEY,
      public_url: env.SVC_MCP_PUBLIC_URL,
      ask: (url, init) => guardedFetch(url, init, policy),
    },
    log,
  };
}
