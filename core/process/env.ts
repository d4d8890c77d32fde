import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { didYouMean } from '#core/errors.ts';
import { type Setting, SETTINGS } from './env/settings.ts';

type Parsed = { readonly [K in keyof typeof SETTINGS]: ReturnType<(typeof SETTINGS)[K]['parse']> };

/** The parsed environment: absolute folders, defaults applied, secrets present. */
export type Env = Omit<Parsed, 'SVC_BIND' | 'SVC_SQLITE_DIR' | 'SVC_FASTMCP_HOST' | 'SVC_ENCRYPTION_KEY'> & {
  readonly SVC_BIND: string;
  readonly SVC_SQLITE_DIR: string;
  readonly SVC_FASTMCP_HOST: string;
  readonly SVC_ENCRYPTION_KEY: readonly string[];
  readonly SVC_JWT_SECRET: string;
  readonly SVC_AGENT_SERVICE_TOKEN: string;
  /** Absolute paths of secrets that were read from files (`…_FILE`), by the names of the secrets. */
  readonly secret_files: Readonly<Record<string, string>>;
  /** All variables of the process, for references such as `env:NAME`. */
  readonly variables: Readonly<Record<string, string | undefined>>;
};

/** Lists all faults of the environment. */
export class EnvError extends Error {
  override readonly name = 'EnvError';
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(
      `The environment has ${faults.length === 1 ? 'an error' : `${faults.length} errors`}:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
    );
    this.faults = faults;
  }
}

export type Program = 'server' | 'host' | 'agent';
const SECRETS: Readonly<Record<Program, readonly (keyof typeof SETTINGS)[]>> = {
  server: ['SVC_ENCRYPTION_KEY', 'SVC_JWT_SECRET', 'SVC_AGENT_SERVICE_TOKEN'],
  host: ['SVC_ENCRYPTION_KEY', 'SVC_AGENT_SERVICE_TOKEN'],
  agent: ['SVC_AGENT_SERVICE_TOKEN'],
};
/** Optional secrets. A weak value is refused for these too. */
const OPTIONAL_SECRETS = ['REDIS_PASSWORD', 'SVC_METRICS_TOKEN', 'SVC_SETUP_TOKEN'] as const;
const SAMPLES = /^(change|replace|your|example|sample|secret|password|test|insert|todo)|^(.)\2*$/i;

/**
 * @param source the process environment, including generated development secrets.
 * @returns the parsed values, and warnings about unknown names.
 * @throws EnvError with all faults.
 */
export function parseEnv(
  program: Program,
  source: Readonly<Record<string, string | undefined>>,
): { env: Env; warnings: string[] } {
  const faults: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(SETTINGS) as [string, Setting<unknown>][]) {
    const given = readSetting(name, setting, source, faults);
    if (given === null) {
      values[name] = setting.default === null ? null : setting.parse(setting.default);
      continue;
    }
    try {
      values[name] = setting.parse(given);
    } catch (error) {
      faults.push(`${name} ${error instanceof Error ? error.message : 'is not valid'}.`);
    }
  }
  const parsed = values as Parsed;
  const production = parsed.SVC_ENV !== 'dev';
  for (const name of SECRETS[program]) {
    const value = parsed[name];
    if (typeof value !== 'string') faults.push(`${name} is required. Set it to a random text of at least 32 characters.`);
    else if (production) faults.push(...weak(name, value));
  }
  for (const name of OPTIONAL_SECRETS) if (production && parsed[name]) faults.push(...weak(name, parsed[name]));
  if (production && program === 'server' && parsed.SVC_KV === 'redis') {
    if (!parsed.REDIS_PASSWORD && !parsed.SVC_REDIS_URL && !parsed.REDIS_URL) {
      faults.push('REDIS_PASSWORD is required. Alternatives: SVC_REDIS_URL, or SVC_KV=memory for a single server.');
    }
  }
  if (program === 'server' && parsed.SVC_GEOIP_SOURCE === 'maxmind' && !parsed.SVC_MAXMIND_LICENSE_KEY) {
    faults.push('SVC_MAXMIND_LICENSE_KEY is required when SVC_GEOIP_SOURCE is maxmind.');
  }
  if ((parsed.SVC_VAULT_ROLE_ID === null) !== (parsed.SVC_VAULT_SECRET_ID === null)) {
    faults.push('SVC_VAULT_ROLE_ID and SVC_VAULT_SECRET_ID must be set together.');
  }
  if (parsed.SVC_REQUIRE_AUTH && parsed.SVC_ALLOW_OPEN) {
    faults.push('SVC_REQUIRE_AUTH and SVC_ALLOW_OPEN contradict each other. Keep one.');
  }
  if ((parsed.SVC_ADMIN_USERNAME === null) !== (parsed.SVC_ADMIN_PASSWORD === null)) {
    faults.push('SVC_ADMIN_USERNAME and SVC_ADMIN_PASSWORD must be set together.');
  }
  if (parsed.SVC_ADMIN_PASSWORD && parsed.SVC_ADMIN_PASSWORD.length < 8)
    faults.push('SVC_ADMIN_PASSWORD must have at least 8 characters.');
  if (faults.length > 0) throw new EnvError(faults);
  return {
    env: { ...resolveDefaults(parsed), secret_files: secretFiles(source), variables: source },
    warnings: unknownNames(source),
  };
}

function readSetting(
  name: string,
  setting: Setting<unknown>,
  source: Readonly<Record<string, string | undefined>>,
  faults: string[],
): string | null {
  const given = source[name];
  const file = setting.secret ? source[`${name}_FILE`] : undefined;
  if (given !== undefined && given !== '') {
    if (file) faults.push(`${name} and ${name}_FILE are both set. Keep one.`);
    return given;
  }
  if (!file) return null;
  try {
    return readFileSync(file, 'utf8').trim() || null;
  } catch {
    faults.push(`${name}_FILE names a file that cannot be read.`);
    return null;
  }
}

function weak(name: string, value: string): string[] {
  const parts = name === 'SVC_ENCRYPTION_KEY' ? value.split(',').map((key) => key.trim()) : [value];
  return parts.flatMap((part) => {
    if (part.length < 32) return [`${name} must have at least 32 characters${parts.length > 1 ? ' in every part' : ''}.`];
    return SAMPLES.test(part) ? [`${name} is a sample value. Set it to a random text.`] : [];
  });
}

function secretFiles(source: Readonly<Record<string, string | undefined>>): Env['secret_files'] {
  const secrets = Object.entries(SETTINGS).flatMap(([name, { secret }]: [string, Setting<unknown>]) => (secret ? [name] : []));
  return Object.fromEntries(
    secrets.flatMap((name) => {
      const file = source[name] ? undefined : source[`${name}_FILE`];
      return file ? [[name, resolve(file)]] : [];
    }),
  );
}

function resolveDefaults(parsed: Parsed): Omit<Env, 'secret_files' | 'variables'> {
  const data = resolve(parsed.SVC_DATA_DIR);
  return {
    ...parsed,
    SVC_DATA_DIR: data,
    SVC_GENERATED_DIR: resolve(parsed.SVC_GENERATED_DIR),
    SVC_SQLITE_DIR: resolve(parsed.SVC_SQLITE_DIR ?? `${data}/databases`),
    SVC_REQUIRE_AUTH: parsed.SVC_REQUIRE_AUTH || (parsed.SVC_ENV !== 'dev' && !parsed.SVC_ALLOW_OPEN),
    SVC_BIND: parsed.SVC_BIND ?? (parsed.SVC_ENV === 'dev' ? '127.0.0.1' : '0.0.0.0'),
    SVC_FASTMCP_HOST: parsed.SVC_FASTMCP_HOST ?? (parsed.SVC_ROLE === 'all' ? '127.0.0.1' : 'mcp'),
    SVC_ENCRYPTION_KEY: (parsed.SVC_ENCRYPTION_KEY ?? '').split(',').map((key) => key.trim()),
    SVC_JWT_SECRET: parsed.SVC_JWT_SECRET ?? '',
    SVC_AGENT_SERVICE_TOKEN: parsed.SVC_AGENT_SERVICE_TOKEN ?? '',
  };
}

function unknownNames(source: Readonly<Record<string, string | undefined>>): string[] {
  const known = Object.entries(SETTINGS as Record<string, Setting<unknown>>).flatMap(([name, { secret }]) =>
    secret ? [name, `${name}_FILE`] : [name],
  );
  return Object.keys(source)
    .filter((name) => name.startsWith('SVC_') && !known.includes(name))
    .map((name) => `${name} is not a known variable.${didYouMean(name, known)}`);
}

/** HTTPS origin of a domain of this installation, without a trailing slash. */
export const httpsOrigin = ({ SVC_EXTERNAL_HTTPS_PORT: port }: Pick<Env, 'SVC_EXTERNAL_HTTPS_PORT'>, domain: string): string =>
  `https://${domain}${port === 443 ? '' : `:${port}`}`;

/** The URL of the server's Redis. */
export const redisUrl = (env: Pick<Env, 'SVC_REDIS_URL' | 'REDIS_URL' | 'REDIS_PASSWORD'>): string =>
  env.SVC_REDIS_URL ?? env.REDIS_URL ?? `redis://:${encodeURIComponent(env.REDIS_PASSWORD ?? '')}@redis:6379/0`;

/**
 * The Redis in which the hosts of an installation share their limits. Null: each host counts separately. A single host needs no
 * Redis.
 */
export function hostRedisUrl({ SVC_KV, REDIS_URL, SVC_REDIS_URL, REDIS_PASSWORD }: Env): string | null {
  if (SVC_KV === 'memory') return null;
  return REDIS_URL ?? SVC_REDIS_URL ?? (REDIS_PASSWORD ? redisUrl({ SVC_REDIS_URL, REDIS_URL, REDIS_PASSWORD }) : null);
}

/** Starting all programs without any settings is a trial, with generated secrets like `npm start`. */
export function firstTry(): void {
  const { SVC_ENV: kind, SVC_ENCRYPTION_KEY: key, SVC_ENCRYPTION_KEY_FILE: key_file } = process.env;
  if (!kind && !key && !key_file) process.env['SVC_ENV'] = 'dev';
}

/** `sluice server` starts only the server. `bun server/main.ts`, the image's command, starts the programs in `SVC_ROLE`. */
export function serverAlone(): void {
  process.env['SVC_ROLE'] ||= 'server';
}

/** A copy of the process environment. No other code reads `process.env`. */
export const processEnvironment = (): Record<string, string | undefined> => ({ ...process.env });
