import { join } from 'node:path';
import { keptDevSecrets } from '#core/edge/dev-secrets.ts';
import type { Env } from '#core/process/env.ts';
import { SETTINGS } from '#core/process/env/settings.ts';
import type { Output } from '#core/contract/index.ts';
import { productFile, programCommand } from '#core/process/product.ts';

const SECRETS = ['SVC_ENCRYPTION_KEY', 'SVC_AGENT_SERVICE_TOKEN'] as const;

/**
 * What a client on this machine runs to have the host over standard input and output. Nothing in it depends on the client's folder, PATH or
 * environment; secrets are named where the program cannot find them.
 */
export function stdioCommand(env: Env): Output<'server.stdio'> {
  // In Sluice's own folder, so that the settings of Bun and the .env file of the client's folder are not read.
  const [command = '', ...args] = programCommand('stdio', [`--cwd=${productFile('.')}`]);
  const kept = env.SVC_ENV === 'dev' ? keptDevSecrets(env.SVC_DATA_DIR) : {};
  const files = SECRETS.filter((name) => env.secret_files[name] !== undefined);
  const secrets = SECRETS.filter(
    (name) => !files.includes(name) && (kept[name] === undefined || kept[name] !== String(env[name])),
  );
  const paths = Object.fromEntries(files.map((name) => [`${name}_FILE`, env.secret_files[name] ?? '']));
  return { command, args, env: { ...environmentOf(env), ...paths }, secrets };
}

/** What differs from the defaults and is no secret. */
function environmentOf(env: Env): Record<string, string> {
  const isDefault = (name: keyof typeof SETTINGS) => String(env[name]) === SETTINGS[name].default;
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
  };
  return Object.fromEntries(Object.entries(named).flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
}
