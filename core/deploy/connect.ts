import type { FrozenServer } from '#snapshots/format/format.ts';
import { isIP } from 'node:net';
import { beginning, firstSentence } from '#core/lib/text/shorten.ts';
import { clientName, NEEDS_NO_HEADER } from '#core/client/client-texts.ts';
import type { RegistryEntry } from '#core/contract/deploy/server.ts';
import { isLoopback } from '#core/contract/settings/config.ts';
import { AppError } from '#core/errors.ts';
import { storedDevSecrets } from '#core/edge/dev-secrets.ts';
import type { Env } from '#core/process/env.ts';
import type { Output } from '#core/contract/index.ts';
import { productFile, programCommand } from '#core/process/product.ts';
import { join } from 'node:path';
import { SETTINGS } from '#core/process/env/settings.ts';

const SECRETS = ['SVC_ENCRYPTION_KEY', 'SVC_AGENT_SERVICE_TOKEN'] as const;
/** Without them the host on this machine could not read references of Vault, and its trace collector would refuse it. */
const OPTIONAL_SECRETS = ['SVC_VAULT_TOKEN', 'SVC_VAULT_SECRET_ID', 'SVC_OTLP_HEADERS'] as const;

const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';

/** Maximum characters in the registry. */
const MAX_DESCRIPTION = 100;
const MAX_TITLE = 100;

/** The entry of the deployed server in the public registry. Throws `conflict` when the registry cannot list its address. */
export function registryEntry(server: FrozenServer, version: number, url: string): RegistryEntry {
  const { server_name, auth_type, transport, instructions } = server;
  if (transport === 'stdio') {
    throw new AppError('conflict', 'The registry lists servers with an address. Set transport to http, and deploy.');
  }
  const { protocol, hostname } = new URL(url);
  if (protocol !== 'https:' || isLoopback(hostname) || isIP(hostname.replaceAll(/[[\]]/g, '')) !== 0 || !hostname.includes('.')) {
    const detail = `The registry lists public https addresses with a domain, and clients reach this server at ${url}. Set up HTTPS with a domain, or SVC_MCP_PUBLIC_URL.`;
    throw new AppError('conflict', detail);
  }
  const token = { description: 'Access token of this server', isRequired: true, isSecret: true };
  const headers = [
    { name: 'Authorization', value: 'Bearer {token}', ...token, description: 'Bearer token', variables: { token } },
  ];
  return {
    $schema: SCHEMA,
    name: `${hostname.split('.').toReversed().join('.')}/${clientName(server_name)}`,
    title: beginning(server_name, MAX_TITLE),
    description: firstSentence(instructions ?? `Data and tools of ${server_name}.`, MAX_DESCRIPTION),
    // The registry accepts each version number once.
    version: `1.0.${version}`,
    remotes: [{ type: 'streamable-http', url, ...(NEEDS_NO_HEADER.has(auth_type) ? {} : { headers }) }],
  };
}

/**
 * The command that a client on this machine runs to use the host over standard input and output. It does not depend on the client's
 * folder, PATH or environment. `secrets` lists those that the program cannot find.
 */
export function stdioCommand(env: Env): Output<'server.stdio'> {
  // It runs in the folder of Sluice, so that Bun reads neither settings nor .env from the client's folder.
  const [command = '', ...args] = programCommand('stdio', [`--cwd=${productFile('.')}`]);
  const generated = env.SVC_ENV === 'dev' ? storedDevSecrets(env.SVC_DATA_DIR) : {};
  const needed = [...SECRETS, ...OPTIONAL_SECRETS.filter((name) => env[name] !== null)];
  const files = needed.filter((name) => env.secret_files[name] !== undefined);
  const values: Partial<Readonly<Record<string, string>>> = {
    SVC_ENCRYPTION_KEY: env.SVC_ENCRYPTION_KEY.join(','),
    SVC_AGENT_SERVICE_TOKEN: env.SVC_AGENT_SERVICE_TOKEN,
  };
  const isGenerated = (name: string) => generated[name] !== undefined && generated[name] === values[name];
  const secrets = needed.filter((name) => !files.includes(name) && !isGenerated(name));
  const paths = Object.fromEntries(files.map((name) => [`${name}_FILE`, env.secret_files[name] ?? '']));
  return { command, args, env: { ...environmentOf(env), ...paths }, secrets };
}

/** Settings that differ from their defaults, without secrets. */
function environmentOf(env: Env): Record<string, string> {
  const isDefault = (name: Exclude<keyof typeof SETTINGS, 'SVC_OTLP_HEADERS'>) => String(env[name]) === SETTINGS[name].default;
  const { SVC_PORT: port, SVC_DATA_DIR: data } = env;
  const named = {
    SVC_ENV: isDefault('SVC_ENV') ? null : env.SVC_ENV,
    SVC_DATA_DIR: data,
    SVC_SQLITE_DIR: env.SVC_SQLITE_DIR === join(data, 'databases') ? null : env.SVC_SQLITE_DIR,
    SVC_SERVER_URL: env.SVC_SERVER_URL ?? (isDefault('SVC_PORT') ? null : `http://127.0.0.1:${port}`),
    SVC_ALLOW_PRIVATE_NETWORKS: isDefault('SVC_ALLOW_PRIVATE_NETWORKS') ? null : 'true',
    SVC_TOOL_RATE_LIMIT: isDefault('SVC_TOOL_RATE_LIMIT') ? null : String(env.SVC_TOOL_RATE_LIMIT),
    SVC_CALLER_RATE_LIMIT: isDefault('SVC_CALLER_RATE_LIMIT') ? null : String(env.SVC_CALLER_RATE_LIMIT),
    SVC_OTLP_ENDPOINT: env.SVC_OTLP_ENDPOINT,
    SVC_OTLP_SAMPLING: isDefault('SVC_OTLP_SAMPLING') ? null : String(env.SVC_OTLP_SAMPLING),
    SVC_OTLP_COMPRESSION: isDefault('SVC_OTLP_COMPRESSION') ? null : env.SVC_OTLP_COMPRESSION,
    SVC_VAULT_ADDR: env.SVC_VAULT_ADDR,
    SVC_VAULT_NAMESPACE: env.SVC_VAULT_NAMESPACE,
    SVC_VAULT_ROLE_ID: env.SVC_VAULT_ROLE_ID,
    SVC_SECRET_COMMANDS: isDefault('SVC_SECRET_COMMANDS') ? null : env.SVC_SECRET_COMMANDS.join(','),
  };
  return Object.fromEntries(Object.entries(named).flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
}
