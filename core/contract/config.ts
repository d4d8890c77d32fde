import * as v from 'valibot';
import {
  Empty,
  integerBetween,
  namesOpenToTokens,
  openToTokens,
  patchOf,
  textBetween,
  Timestamp,
  Version,
  Warnings,
} from './fields.ts';
import { LOG_LEVELS } from './log-levels.ts';
import { operation } from './operation.ts';

export const Transport = v.picklist(['http', 'sse', 'stdio']);
/** In rising order of what a caller has to show. */
export const AuthType = v.picklist(['none', 'bearer', 'oauth_credentials', 'oauth_introspection']);
export const DnsProvider = v.picklist(['cloudflare', 'route53']);

/** ASCII (specification 2.7). */
export const VariableName = v.pipe(
  v.string(),
  v.regex(/^[a-zA-Z_]\w{0,63}$/, 'begins with a letter or underscore and holds at most 64 letters, digits and underscores'),
);
export const VariableType = v.picklist(['string', 'integer', 'float', 'boolean']);
export type VariableType = v.InferOutput<typeof VariableType>;

const Text = textBetween(0, 10_000);
const Finite = v.pipe(v.number(), v.finite());
const Scalar = v.union([Text, Finite, v.boolean()], 'must be a string, a number, true or false');
type Scalar = v.InferOutput<typeof Scalar>;

/** What a value may be for each type. Integers beyond 2^53 do not survive JSON. */
const FITS: Readonly<Record<VariableType, (value: Scalar) => boolean>> = {
  string: (value) => typeof value === 'string',
  integer: Number.isSafeInteger,
  float: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
};

export const Variable = v.object({ value: Scalar, type: VariableType });
export type Variable = v.InferOutput<typeof Variable>;
/** A scalar, whose type follows from it, or a value with its type. */
const VariableDraft = v.union(
  [
    Text,
    Finite,
    v.boolean(),
    v.pipe(
      v.strictObject({ value: Scalar, type: v.optional(VariableType) }),
      v.check(({ value, type }) => type === undefined || FITS[type](value), 'must have a value of its type'),
    ),
  ],
  'must be a string, a number, true, false, or an object with value and type',
);
export type VariableDraft = v.InferOutput<typeof VariableDraft>;

/** Exactly what a browser sends as Origin: no path, no default port; `*` only where the server allows it. */
const Origin = v.pipe(
  textBetween(1, 300),
  v.check(
    isOrigin,
    'must be an origin as browsers send it: scheme, host and any non-default port, such as https://app.example.com',
  ),
);

function isOrigin(text: string): boolean {
  if (text === '*') return true;
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\*]+$/.test(text) || !URL.canParse(text)) return false;
  // Other schemes than those of the web have no origin that could be compared.
  return /^https?:/.test(text) ? new URL(text).origin === text : true;
}

const BindAddress = v.pipe(
  textBetween(1, 253),
  v.regex(
    /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9A-Fa-f]*:[0-9A-Fa-f:]*(?:\d+\.\d+\.\d+\.\d+)?)$/,
    'must be an IP address or a host name, without a port',
  ),
);

const Domain = v.pipe(
  textBetween(1, 253),
  v.regex(
    /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    'must be a domain name in lower case, such as mcp.example.com',
  ),
);

const HttpUrl = v.pipe(
  textBetween(1, 2_048),
  v.check((text) => {
    if (!URL.canParse(text)) return false;
    const { protocol, username, password, hash } = new URL(text);
    return /^https?:$/.test(protocol) && username === '' && password === '' && hash === '';
  }, 'must be an http:// or https:// URL without credentials and fragment'),
);

/** Identical to the `issuer` of the authorization server's own metadata, path included (RFC 8414 section 2). */
const IssuerUrl = v.pipe(
  HttpUrl,
  v.check((text) => !text.includes('?'), 'must be the issuer of the authorization server, without a query'),
);
/** RFC 6749 section 3.3. */
const ScopeName = v.pipe(
  textBetween(1, 255),
  v.regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must contain only printable ASCII characters, without spaces, quotes and backslashes'),
);

/** RFC 6749 appendix A, without the space. */
const ClientId = v.pipe(
  textBetween(1, 255),
  v.regex(/^[\x21-\x7e]+$/, 'must contain only printable ASCII characters, without spaces'),
);
const Secret = textBetween(1, 4_096);

export const DnsCredentials = v.union(
  [
    v.strictObject({ api_token: Secret }),
    v.strictObject({ access_key_id: Secret, secret_access_key: Secret, hosted_zone_id: v.optional(Secret) }),
  ],
  'must be an object with api_token for cloudflare, or with access_key_id, secret_access_key and an optional hosted_zone_id for route53',
);
export type DnsCredentials = v.InferOutput<typeof DnsCredentials>;

/** Fields that are read as they are written. A token changes those that say so, and no other. */
const plain = {
  server_name: v.pipe(textBetween(1, 100), openToTokens()),
  transport: Transport,
  host: BindAddress,
  port: integerBetween(1, 65_535),
  log_level: v.picklist(LOG_LEVELS),
  otel_enabled: v.boolean(),
  auth_type: AuthType,
  token_ttl_seconds: integerBetween(60, 604_800),
  introspection_url: v.nullable(HttpUrl),
  introspection_client_id: v.nullable(textBetween(1, 255)),
  introspection_issuer: v.nullable(IssuerUrl),
  introspection_scopes: v.pipe(
    v.array(ScopeName),
    v.maxLength(50),
    v.description('Listed for clients, which request them from the issuer'),
  ),
  introspection_audience: v.nullable(v.pipe(textBetween(1, 2_048), v.description('Every token must have it in aud'))),
  introspection_cache_ttl_seconds: integerBetween(0, 3_600),
  cors_origins: v.pipe(v.array(Origin), v.maxLength(100)),
  ssl_enabled: v.boolean(),
  ui_domain: v.nullable(Domain),
  mcp_domain: v.nullable(Domain),
  mcp_proxy: v.boolean(),
  acme_email: v.nullable(v.pipe(textBetween(3, 254), v.email('must be an e-mail address'))),
  acme_challenge: v.picklist(['http-01', 'dns-01']),
  dns_provider: v.nullable(DnsProvider),
  auto_renew: v.boolean(),
  prompt_guard_enabled: v.boolean(),
  prompt_guard_threshold: v.picklist(['low', 'medium', 'high']),
  prompt_guard_allow: v.pipe(v.array(textBetween(1, 100)), v.maxLength(500)),
  agent_enabled: v.boolean(),
  agent_rate_limit: v.pipe(integerBetween(1, 1_000_000), v.description('Rate limit of each token, in requests per minute')),
};

/** Without a secret a client keeps its own. `secret_set` is read back and ignored. */
const OauthClientDraft = v.strictObject({
  client_id: ClientId,
  client_secret: v.optional(Secret),
  secret_set: v.optional(v.boolean()),
});

export const ServerConfigPatch = v.strictObject({
  version: v.optional(Version),
  ...patchOf(plain),
  oauth_clients: v.optional(v.pipe(v.array(OauthClientDraft), v.maxLength(10))),
  introspection_client_secret: v.optional(v.nullable(Secret)),
  dns_credentials: v.optional(v.nullable(DnsCredentials)),
  global_variables: v.optional(
    v.pipe(
      v.record(VariableName, VariableDraft),
      v.check((variables) => Object.keys(variables).length <= 100, 'must have at most 100 variables'),
      openToTokens(),
    ),
  ),
});
/** Settings that a token may change; whatever is added is closed until it is marked. */
export const TOKEN_SETTINGS = namesOpenToTokens(ServerConfigPatch.entries);
export type ServerConfigPatch = v.InferOutput<typeof ServerConfigPatch>;

export const ServerConfig = v.object({
  ...plain,
  // A default may come from the environment, where 0 lets the system choose.
  port: v.number(),
  oauth_clients: v.array(v.object({ client_id: v.string(), secret_set: v.boolean() })),
  introspection_client_secret_set: v.boolean(),
  dns_credentials_set: v.boolean(),
  global_variables: v.pipe(
    v.record(v.string(), Variable),
    v.description('Available as vars.<name> in templates; not for secrets'),
  ),
  version: Version,
  updated_at: v.pipe(v.nullable(Timestamp), v.description('null until the first change')),
  warnings: v.pipe(Warnings, v.description('Reasons why these settings cannot be deployed, as sentences')),
});
export type ServerConfig = v.InferOutput<typeof ServerConfig>;

export const config = {
  'config.get': operation({
    method: 'GET',
    path: '/server/config',
    access: 'read',
    input: Empty,
    output: ServerConfig,
    agent: 'get_server_config',
    summary: 'Read the server configuration',
  }),
  'config.update': operation({
    method: 'PATCH',
    path: '/server/config',
    access: 'write',
    input: ServerConfigPatch,
    output: ServerConfig,
    agent: 'update_server_config',
    summary: 'Change fields of the server configuration; general, auth and variables take effect at the next deploy',
  }),
};

/** Whether an address to listen on is of this machine alone. */
export const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d{1,3}){3}|::1|0:0:0:0:0:0:0:1)$/i.test(host);

/** Whether nobody has to show anything to call the tools. */
export const asksNothing = ({ auth_type, transport }: Pick<ServerConfig, 'auth_type' | 'transport'>): boolean =>
  auth_type === 'none' && transport !== 'stdio';

interface WhoGetsIn extends Pick<ServerConfig, 'auth_type' | 'transport' | 'introspection_url'> {
  readonly oauth_clients: readonly unknown[];
}
/** The field for want of which no caller could get in, and the sentence; null when callers can. */
export function lockedOut(server: WhoGetsIn): { field: 'introspection_url' | 'oauth_clients'; message: string } | null {
  const { auth_type, transport, introspection_url, oauth_clients } = server;
  if (transport === 'stdio') return null;
  if (auth_type === 'oauth_introspection' && introspection_url === null) {
    const message = 'introspection_url is required with auth_type oauth_introspection. Without it, every call is rejected.';
    return { field: 'introspection_url', message };
  }
  if (auth_type === 'oauth_credentials' && oauth_clients.length === 0) {
    const message =
      'oauth_clients needs at least one client with auth_type oauth_credentials. Without one, every call is rejected.';
    return { field: 'oauth_clients', message };
  }
  return null;
}
