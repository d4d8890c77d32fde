import { mkdir, readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type Env, hostRedisUrl } from '#core/process/env.ts';
import { acceptedHostNames, installationPorts } from '#core/edge/accepted-names.ts';
import type { RedisLimits } from '#core/cluster/redis-limits.ts';
import { productFile, VIEW_PAGE } from '#core/process/product.ts';
import type { Log } from '#core/process/log.ts';
import { writeFileAtomic } from '#core/lib/durable-file.ts';
import { createKeyring } from '#core/lib/secrets.ts';
import { createSecretRefs } from '#core/process/secret-refs/secret-refs.ts';
import { DEFAULT_TTL_SECONDS, secretSources } from '#core/process/secret-refs/secret-sources.ts';
import { guardedFetch } from '#core/engines/shared/dial.ts';
import { openSource } from '#core/engines/index.ts';
import { dialPolicy, hostAddresses } from '#core/engines/shared/policy.ts';
import type { DialPolicy } from '#core/engines/shared/source.ts';
import { sideSnapshotFiles } from './control/side-snapshot-files.ts';
import { installationFile } from './control/own-installation.ts';
import { signedListsFile } from './control/signed-lists.ts';
import { snapshotFile } from './control/snapshot-file.ts';
import { toViewPage, type ViewPage } from './registry/view-page.ts';
import { foreignKeysFile } from './auth/signed/foreign-keys.ts';
import { identityFile } from './auth/signed/identity-state.ts';
import { tokenFile } from './auth/list-file.ts';
import type { HostOptions } from './host-options.ts';
import type { Collector } from './observe/tracing-recorder.ts';
import { dialledFetch } from './runtime/runtime.ts';

/** The options of a host from the environment; creates its folder. */
export async function hostOptions(env: Env, log: Log): Promise<HostOptions> {
  const directory = join(env.SVC_DATA_DIR, 'host');
  await mkdir(directory, { recursive: true, mode: 0o700 });
  // The host opens secrets but seals none, so the fingerprint key is not used.
  const keyring = createKeyring(env.SVC_ENCRYPTION_KEY, new Uint8Array(32));
  let port = env.SVC_FASTMCP_PORT;
  let secret_ttl_seconds = DEFAULT_TTL_SECONDS;
  const policy: DialPolicy = {
    ...dialPolicy(env),
    forbiddenNow: () => Promise.resolve(hostAddresses(env, [port])),
    ...(dialledFetch && { fetch: dialledFetch }),
  };
  const boot_id = crypto.randomUUID();
  return {
    // Two hosts on one machine need different ids; the part from the folder identifies a host after a restart.
    id: `${hostname()}-${await folderId(join(directory, 'id'), log)}-${boot_id.slice(0, 8)}`,
    boot_id,
    server_url: env.SVC_SERVER_URL ?? `http://127.0.0.1:${env.SVC_PORT}`,
    service_token: env.SVC_AGENT_SERVICE_TOKEN,
    address: { host: env.SVC_BIND, port: env.SVC_FASTMCP_PORT },
    allowed_hosts: [...acceptedHostNames(env)],
    names_path: join(directory, 'names.json'),
    ended_path: join(directory, 'ended-sessions'),
    require_auth: env.SVC_REQUIRE_AUTH,
    trusted_proxies: env.SVC_TRUSTED_PROXIES,
    onServe: (server) => {
      port = server.port;
      secret_ttl_seconds = server.secret_ref_ttl_seconds ?? DEFAULT_TTL_SECONDS;
    },
    openSource: (settings) => openSource(settings, policy),
    openSecret: (sealed, path) => keyring.open(sealed, path),
    resolveSecret: createSecretRefs({ ...secretSources(env), ttl_seconds: () => secret_ttl_seconds, log }),
    staleSecret: (sealed) => keyring.stale(sealed),
    file: snapshotFile(join(directory, 'snapshot.json')),
    folder: directory,
    installation: installationFile(join(directory, 'installation.json')),
    beside: sideSnapshotFiles(join(directory, 'candidates')),
    signed: signedListsFile(join(directory, 'signatures.json')),
    auth: {
      tokens: tokenFile(join(directory, 'tokens.json')),
      identity: identityFile(join(directory, 'identity.json')),
      foreign_keys: foreignKeysFile(join(directory, 'issuers.json')),
      keys: env.SVC_ENCRYPTION_KEY,
      public_url: env.SVC_MCP_PUBLIC_URL,
      front_url: env.SVC_PUBLIC_URL,
      own_ports: [...installationPorts(env)],
      ask: (url, init) => guardedFetch(url, init, policy),
    },
    view_page: await readViewPage(log),
    rates: { tool_per_minute: env.SVC_TOOL_RATE_LIMIT, caller_per_minute: env.SVC_CALLER_RATE_LIMIT },
    redis: await openRedisLimits(env, log),
    collector: collectorOf(env),
    metrics_token: env.SVC_METRICS_TOKEN,
    log,
  };
}

/** Eight random characters, stored in the host's folder. */
async function folderId(path: string, log: Log): Promise<string> {
  const fresh = crypto.randomUUID().slice(0, 8);
  try {
    const stored = await readFile(path, 'utf8').catch(() => '');
    if (/^[0-9a-f]{8}$/.test(stored)) return stored;
    await writeFileAtomic(path, fresh);
  } catch (error) {
    log.error('host_id_not_kept', { error: String(error) });
  }
  return fresh;
}

const collectorOf = (env: Env): Collector | null =>
  env.SVC_OTLP_ENDPOINT === null
    ? null
    : {
        endpoint: env.SVC_OTLP_ENDPOINT,
        headers: env.SVC_OTLP_HEADERS ?? {},
        sampling: env.SVC_OTLP_SAMPLING,
        compression: env.SVC_OTLP_COMPRESSION,
      };

/** Reads the page, which is built with the UI; without it results are not drawn. */
async function readViewPage(log: Log): Promise<ViewPage | null> {
  try {
    return toViewPage(await readFile(productFile(VIEW_PAGE), 'utf8'));
  } catch (error) {
    log.info('no_view_page', { detail: `Results are not drawn in clients: ${String(error)}` });
    return null;
  }
}

/** Loads the Redis client only if a URL is set. */
async function openRedisLimits(env: Env, log: Log): Promise<RedisLimits | null> {
  const url = hostRedisUrl(env);
  if (url === null) return null;
  const module = await import('#core/cluster/redis-limits.ts');
  return module.openRedisLimits(url, env.SVC_AGENT_SERVICE_TOKEN, (up, reason) => {
    if (up) log.info('shared_limits_on', { reason });
    else log.warning('shared_limits_off', { reason, effect: 'every host applies its limits on its own' });
  });
}
