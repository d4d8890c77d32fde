import { resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import { LOG_LEVELS } from '#core/contract/log-levels.ts';

/**
 * All environment variables in one table. The parser, the table in the guide and the tests use it. A secret can also be a file,
 * whose path is in the variable with the suffix `_FILE`.
 */
export interface Setting<T> {
  readonly default: string | null;
  readonly meaning: string;
  readonly secret?: boolean;
  /** Throws an error whose message continues "NAME …". */
  readonly parse: (text: string) => T;
}

const text = (fallback: string | null, meaning: string): Setting<string | null> => ({
  default: fallback,
  meaning,
  parse: (value) => value,
});
const secret = (meaning: string): Setting<string | null> => ({ default: null, meaning, secret: true, parse: (value) => value });
const fixed = (fallback: string, meaning: string): Setting<string> => ({ default: fallback, meaning, parse: (value) => value });
const choice = <const T extends string>(values: readonly T[], fallback: T, meaning: string): Setting<T> => ({
  default: fallback,
  meaning: `${meaning} (${values.join(', ')})`,
  parse(value) {
    const found = values.find((candidate) => candidate.toLowerCase() === value.toLowerCase());
    if (found === undefined) throw new Error(`must be one of ${values.join(', ')}`);
    return found;
  },
});
const bool = (fallback: boolean, meaning: string): Setting<boolean> => ({
  default: String(fallback),
  meaning,
  parse(value) {
    if (/^(true|1|yes|on)$/i.test(value)) return true;
    if (/^(false|0|no|off)$/i.test(value)) return false;
    throw new Error('must be true or false');
  },
});
const integer = (fallback: number, min: number, max: number, meaning: string): Setting<number> => ({
  default: String(fallback),
  meaning,
  parse(value) {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < min || number > max) throw new Error(`must be a whole number from ${min} to ${max}`);
    return number;
  },
});
const share = (fallback: string, meaning: string): Setting<number> => ({
  default: fallback,
  meaning,
  parse(value) {
    const number = Number(value);
    if (value.trim() === '' || !(number >= 0 && number <= 1)) throw new Error('must be a number from 0 to 1');
    return number;
  },
});
const list = (meaning: string): Setting<string[]> => ({
  default: '',
  meaning,
  parse: (value) =>
    value
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
});
/** In the form that `COMMAND` reads. */
const commands = (meaning: string): Setting<string[]> => {
  const texts = list(meaning);
  return {
    ...texts,
    parse(value) {
      const items = texts.parse(value);
      if (!items.every((item) => COMMAND.test(item))) throw new Error('must list name=/absolute/path, comma-separated');
      return items;
    },
  };
};
export const COMMAND = /^([\w-]+)=(\/.+)$/;
/** A network address and its prefix length. */
export type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

const networks = (meaning: string): Setting<readonly Network[]> => {
  const texts = list(meaning);
  return { ...texts, parse: (value) => texts.parse(value).map(toNetwork) };
};

function toNetwork(text: string): Network {
  const cidr = text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`;
  // Old IPv4 notations such as 10.8 or 0x0a000000 are usually typing errors.
  const is_plain = text.includes(':') || ipaddr.IPv4.isValidFourPartDecimal(cidr.split('/')[0] ?? '');
  if (!is_plain || !/\/\d{1,3}$/.test(cidr) || !ipaddr.isValidCIDR(cidr)) {
    throw new Error('must list addresses or networks such as 10.0.0.0/8, comma-separated');
  }
  return ipaddr.parseCIDR(cidr);
}

const url = (protocols: readonly string[], meaning: string): Setting<string | null> => ({
  default: null,
  meaning,
  parse(value) {
    const parsed = URL.canParse(value) ? new URL(value) : null;
    if (parsed === null || !protocols.includes(parsed.protocol)) {
      throw new Error(`must be a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`);
    }
    return value.replace(/\/+$/, '');
  },
});

/** Headers, in the form of `OTEL_EXPORTER_OTLP_HEADERS`: values are percent-encoded. */
const headers = (meaning: string): Setting<Readonly<Record<string, string>> | null> => ({
  default: null,
  meaning,
  secret: true,
  parse(value) {
    const items = value.split(',').map((item) => /^\s*([\w-]+)\s*=(.*)$/.exec(item));
    const named = items.map((item) => [item?.[1] ?? '', decoded(item?.[2]?.trim() ?? '')] as const);
    if (named.some(([name, text]) => name === '' || text === null || !/^[\t\x20-\x7e]+$/.test(text))) {
      throw new Error('must list headers as name=value, comma-separated, with % and , of the values percent-encoded');
    }
    return Object.fromEntries(named.map(([name, text]) => [name, text ?? '']));
  },
});

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** A URL that clients use. Sluice appends its paths. */
const publicUrl = (meaning: string, may_have_path: boolean): Setting<string | null> => {
  const any = url(['http:', 'https:'], meaning);
  return {
    ...any,
    parse(value) {
      const text = any.parse(value);
      const { pathname, search, hash, username, password } = new URL(value);
      if (`${search}${hash}${username}${password}` !== '') throw new Error('must be a URL without user, query and fragment');
      if (!may_have_path && pathname !== '/')
        throw new Error(
          'must have no path: pages, sign-in and their metadata are at the root of a name. Give Sluice a name of its own',
        );
      return text;
    },
  };
};

export const SETTINGS = {
  SVC_ENV: choice(['production', 'dev'], 'production', 'dev generates secrets and may create the demo'),
  SVC_ROLE: choice(['all', 'server', 'host', 'agent'], 'all', 'programs that `server/main.ts` runs'),
  SVC_ENCRYPTION_KEY: secret('keys that encrypt stored secrets; comma-separated, newest first'),
  SVC_JWT_SECRET: secret('signs the sessions of everybody who signs in'),
  SVC_AGENT_SERVICE_TOKEN: secret('secret shared by server, host and agent; must be the same on all of them'),
  REDIS_PASSWORD: secret('Redis password, if no Redis URL is set; Redis is then at host redis, port 6379, database 0'),
  SVC_REDIS_URL: {
    ...url(['redis:', 'rediss:'], 'Redis URL for the server; hosts use it if REDIS_URL is not set'),
    secret: true,
  },
  REDIS_URL: {
    ...url(
      ['redis:', 'rediss:'],
      'Redis URL for the hosts, which share their limits there; the server uses it if SVC_REDIS_URL is not set',
    ),
    secret: true,
  },
  SVC_KV: choice(
    ['redis', 'memory'],
    'redis',
    'where rate limit counters and signals between servers are kept; use memory for a single server only. In dev the default is memory unless a Redis variable is set',
  ),
  SVC_PORT: integer(3000, 0, 65_535, 'port of the server: UI, REST API and proxied endpoints'),
  SVC_SSL_PORT: integer(
    443,
    0,
    65_535,
    'HTTPS port, opened once there is a certificate; if 443, port 80 is opened too, for redirects and challenges',
  ),
  SVC_EXTERNAL_HTTPS_PORT: integer(443, 1, 65_535, 'public HTTPS port, used in redirects and URLs'),
  SVC_SSL_STAGING: bool(false, 'order certificates from the Let’s Encrypt staging environment, which browsers do not trust'),
  SVC_ACME_DIRECTORY_URL: url(['https:'], 'ACME directory of a certificate authority other than Let’s Encrypt'),
  SVC_BIND: text(null, 'address that server and agent listen on; 127.0.0.1 in dev, 0.0.0.0 in production'),
  SVC_DATA_DIR: fixed('./data', 'folder for the embedded database, generated dev secrets and host snapshots'),
  SVC_SQLITE_DIR: text(
    null,
    'folder with the files and folders that SQLite and DuckDB connections can open; defaults to `databases` in the data folder',
  ),
  SVC_FILES_MAX_BYTES: integer(1_073_741_824, 1, 1e13, 'largest file that can be uploaded to a connection, in bytes'),
  SVC_FILES_QUOTA_BYTES: integer(10_737_418_240, 1, 1e15, 'largest size of all files of a connection together, in bytes'),
  SVC_VAULT_ADDR: url(['https:', 'http:'], 'URL of Vault, from which server and hosts read secrets by reference (`vault:`)'),
  SVC_VAULT_NAMESPACE: text(null, 'Vault namespace'),
  SVC_VAULT_TOKEN: secret('Vault token; a token file is read again when Vault refuses its token'),
  SVC_VAULT_ROLE_ID: text(null, 'role ID of an AppRole, instead of a Vault token'),
  SVC_VAULT_SECRET_ID: secret('secret ID of that AppRole'),
  SVC_SECRET_COMMANDS: commands(
    'programs that print a secret, for references such as `exec:aws-secret shop/db`: name=/absolute/path, comma-separated',
  ),
  SVC_DATABASE_URL: {
    ...url(['postgres:', 'postgresql:', 'file:'], 'metadata database; defaults to an embedded file in the data folder'),
    secret: true,
  },
  SVC_GENERATED_DIR: fixed('./generated', 'folder for generated projects'),
  SVC_FASTMCP_HOST: text(null, 'address at which the server reaches the host; 127.0.0.1 with role all, otherwise mcp'),
  SVC_FASTMCP_PORT: integer(8080, 0, 65_535, 'default of the `port` setting'),
  SVC_AGENT_MCP_PORT: integer(8090, 0, 65_535, 'port of the agent endpoint'),
  SVC_AGENT_MCP_URL: url(
    ['http:', 'https:'],
    'URL at which the server reaches the agent; defaults to `http://127.0.0.1:<SVC_AGENT_MCP_PORT>`',
  ),
  SVC_SERVER_URL: url(
    ['http:', 'https:'],
    'URL at which host and agent reach the server; defaults to `http://127.0.0.1:<SVC_PORT>`',
  ),
  SVC_PUBLIC_URL: publicUrl('public URL of the server, without a path', false),
  SVC_MCP_PUBLIC_URL: publicUrl('public URL of the MCP host', true),
  SVC_ALLOWED_HOSTS: list('additional names accepted in the Host header, comma-separated'),
  SVC_TRUSTED_PROXIES: networks(
    'networks (CIDR) of proxies whose X-Forwarded-For, -Proto, -Host, -Port and -Prefix headers are trusted, comma-separated',
  ),
  SVC_SETUP_TOKEN: secret('the first visitor must enter it to become the owner'),
  SVC_ADMIN_USERNAME: text(null, 'with SVC_ADMIN_PASSWORD: the owner, created at startup if there is no person yet'),
  SVC_ADMIN_PASSWORD: secret('password of that owner, at least 8 characters'),
  SVC_RESTORE_DRILL: bool(
    false,
    'for a restored copy beside the real installation: sends no webhooks and no audit log, orders no certificates, and says so on every page',
  ),
  SVC_DEMO: bool(true, 'create and deploy the demo in an empty dev installation'),
  SVC_IMPORT_FILE: text(null, 'exported file that is imported at startup; existing names are left unchanged'),
  SVC_LOG_LEVEL: choice(LOG_LEVELS, 'INFO', 'log level of server and agent'),
  SVC_ALLOW_PRIVATE_NETWORKS: bool(false, 'allow database connections to private and internal addresses'),
  SVC_ALLOW_PASSTHROUGH_SQL: bool(false, 'allow tools whose entire statement is a parameter'),
  SVC_REQUIRE_AUTH: bool(
    false,
    'refuse to deploy or serve an MCP server that anyone who can reach its port can call; always on in production, unless `SVC_ALLOW_OPEN` is true',
  ),
  SVC_ALLOW_OPEN: bool(false, 'in production, allow an MCP server that other machines can call without credentials'),
  SVC_PROMPT_GUARD_ENABLED: bool(true, 'false turns the prompt guard off, overriding the server configuration'),
  SVC_AGENT_RATE_LIMIT: integer(
    120,
    1,
    1_000_000,
    'default of the `agent_rate_limit` setting: requests per minute for each token',
  ),
  SVC_SHUTDOWN_DELAY_MS: integer(
    0,
    0,
    60_000,
    'milliseconds that a host goes on serving after SIGTERM while `/readyz` answers 503, so that a load balancer with health checks notices',
  ),
  SVC_TOKEN_MAX_DAYS: integer(
    365,
    0,
    3_650,
    'longest lifetime of access tokens and of secrets of OAuth clients and apps, in days; 0: no limit, they can be without an end',
  ),
  SVC_REQUEST_LOG_DAYS: integer(30, 1, 3_650, 'days for which the request log and sessions of clients are kept'),
  SVC_REQUEST_LOG_ENTRIES: integer(1_000_000, 1_000, 1_000_000_000, 'most calls in the request log; the oldest are deleted'),
  SVC_TOOL_RATE_LIMIT: integer(
    0,
    0,
    1_000_000,
    'rate limit of each tool and resource in calls per minute, all callers combined; 0 turns it off',
  ),
  SVC_CALLER_RATE_LIMIT: integer(
    0,
    0,
    1_000_000,
    'rate limit of each caller (by credential, else by address) in calls per minute, prompts included; 0 turns it off',
  ),
  SVC_METRICS_TOKEN: secret('bearer token for `/metrics`, and for the reasons in `/readyz`, on every program'),
  SVC_OTLP_ENDPOINT: url(
    ['http:', 'https:'],
    'OTLP/HTTP collector, such as http://collector:4318: for traces of the host if `otel_enabled` is on, and for the audit log of the server if `audit_otlp` is',
  ),
  SVC_OTLP_HEADERS: headers('headers of requests to the collector as name=value, comma-separated, such as an API key'),
  SVC_OTLP_SAMPLING: share(
    '1',
    'share of the requests that are traced, from 0 to 1; failed ones are always traced, and those that continue a trace as it says',
  ),
  SVC_OTLP_COMPRESSION: choice(['none', 'gzip'], 'none', 'compression of requests to the collector'),
  SVC_GEOIP_SOURCE: {
    default: 'generic',
    meaning:
      'country data for agent activity: generic (bundled), maxmind (GeoLite2, downloaded weekly) or the path of an .mmdb file',
    parse(value): string {
      const word = value.toLowerCase();
      if (word === 'generic' || word === 'maxmind') return word;
      if (!word.endsWith('.mmdb')) throw new Error('must be generic, maxmind or the path of an .mmdb file');
      return resolve(value);
    },
  },
  SVC_MAXMIND_LICENSE_KEY: secret('MaxMind licence key for GeoLite2; required with SVC_GEOIP_SOURCE=maxmind'),
} satisfies Record<string, Setting<unknown>>;
