import { brief } from '../marks.ts';
import * as v from 'valibot';
import { ToolsetNames } from '#core/contract/definitions/toolsets.ts';
import { CallerClaims } from './caller-claims.ts';
import { ClientId, Secret, DnsCredentials, VariableDraft, VariableName, Variable } from './setting-values.ts';
import { patchOf, Version, Timestamp, Unchanged, Warnings, Empty } from '#core/contract/fields.ts';
import { field, openNames } from '#core/contract/marks.ts';
import { plainSettings, frozenSettings, frozenWhenSet } from './settings.ts';
import { AuditDays } from './audit-settings.ts';
import { DeployGates } from './deploy-gates.ts';
import { operation } from '#core/contract/operation.ts';
import { secretOrRef, ShownRef } from '#core/contract/fields.ts';

export const CONFIG_ID = 'server_config';

export const MOST_CLIENTS = 10;

export const MOST_VARIABLES = 100;

/**
 * An update without secret, toolsets or claims leaves those of the client unchanged. `secret_set` is returned by reads and
 * ignored in writes.
 */
const OauthClientDraft = v.strictObject({
  client_id: field(ClientId, { label: 'Client ID', control: 'mono' }),
  client_secret: v.optional(field(secretOrRef(Secret), { label: 'Client secret', secret: true })),
  secret_set: v.optional(v.boolean()),
  toolsets: v.optional(
    field(v.nullable(ToolsetNames), { label: 'Toolsets', help: 'Names of the toolsets that the client sees; null: everything' }),
  ),
  claims: v.optional(field(CallerClaims, { label: 'Claims', help: 'Claims of the client that statements and templates read.' })),
});

export const ServerConfigPatch = v.strictObject({
  version: v.optional(Version),
  ...patchOf(plainSettings),
  oauth_clients: v.optional(
    field(v.pipe(v.array(OauthClientDraft), v.maxLength(MOST_CLIENTS)), {
      label: 'OAuth clients',
      help: 'They exchange their ID and secret for short-lived tokens at /oauth/token.',
    }),
  ),
  introspection_client_secret: v.optional(
    field(v.nullable(secretOrRef(Secret)), { label: 'Introspection client secret', secret: true }),
  ),
  dns_credentials: v.optional(field(v.nullable(secretOrRef(DnsCredentials)), { label: 'DNS credentials', secret: true })),
  global_variables: v.optional(
    field(
      v.pipe(
        v.record(VariableName, VariableDraft),
        v.check((variables) => Object.keys(variables).length <= MOST_VARIABLES, `must have at most ${MOST_VARIABLES} variables`),
      ),
      { label: 'Variables', help: 'Available as vars.<name> in templates and prompts. Not for secrets.', open: true },
    ),
  ),
});

/** Settings that tokens can change. New settings are closed until they are marked as open. */
export const TOKEN_SETTINGS = openNames(ServerConfigPatch.entries);

/** Settings that take effect at the next deploy; all others do immediately. */
export const FROZEN_SETTINGS: ReadonlySet<string> = new Set([
  ...Object.keys({ ...frozenSettings, ...frozenWhenSet }),
  'oauth_clients',
  'introspection_client_secret',
  'global_variables',
]);

export type ServerConfigPatch = v.InferOutput<typeof ServerConfigPatch>;

export const ServerConfig = v.object({
  ...plainSettings,
  deploy_gates: v.pipe(DeployGates, v.description('What each gate does with its findings at a deploy')),
  audit_retention_days: v.pipe(AuditDays, v.description('Days that the audit log keeps entries of each kind')),
  // No minimum: a default from the environment can be 0, with which the system chooses a port.
  port: v.number(),
  oauth_clients: v.array(
    brief(
      v.object({
        client_id: v.string(),
        client_secret: ShownRef,
        secret_set: v.boolean(),
        toolsets: v.nullable(v.array(v.string())),
        claims: v.record(v.string(), v.unknown()),
      }),
    ),
  ),
  introspection_client_secret: ShownRef,
  introspection_client_secret_set: v.boolean(),
  dns_credentials: ShownRef,
  dns_credentials_set: v.boolean(),
  global_variables: v.pipe(
    v.record(v.string(), Variable),
    v.description('Available as vars.<name> in templates; not for secrets'),
  ),
  version: Version,
  updated_at: v.pipe(v.nullable(Timestamp), v.description('null until the first change')),
  token_max_days: v.pipe(v.number(), v.description('Longest lifetime of tokens in days (SVC_TOKEN_MAX_DAYS); 0: no limit')),
  warnings: v.pipe(Warnings, v.description('Reasons why these settings cannot be deployed, as sentences')),
  unchanged: Unchanged,
});

export type ServerConfig = v.InferOutput<typeof ServerConfig>;

export const config = {
  'config.get': operation('GET /server/config', 'read', {
    input: Empty,
    output: ServerConfig,
    agent: 'get_server_config',
    summary: 'Read the server configuration',
  }),
  'config.update': operation('PATCH /server/config', 'write', {
    role: 'admin',
    input: ServerConfigPatch,
    output: ServerConfig,
    agent: 'update_server_config',
    summary: `Change fields of the server configuration; general, auth and variables take effect at the next deploy. A token changes only ${[...TOKEN_SETTINGS].join(' and ')}`,
  }),
};

/** Whether a listen address is reachable only from this machine. */
export const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d{1,3}){3}|::1|0:0:0:0:0:0:0:1)$/i.test(host);

/** Whether tools can be called without credentials. */
export const asksNothing = ({ auth_type, transport }: Pick<ServerConfig, 'auth_type' | 'transport'>): boolean =>
  auth_type === 'none' && transport !== 'stdio';

interface WhoGetsIn extends Pick<ServerConfig, 'auth_type' | 'transport' | 'introspection_url'> {
  readonly jwt_issuers?: readonly unknown[];
  readonly oauth_clients: readonly unknown[];
}

/** The setting without which no caller gets in, with a message; null if callers can get in. */
export function lockedOut(
  server: WhoGetsIn,
): { field: 'introspection_url' | 'oauth_clients' | 'jwt_issuers'; message: string } | null {
  const { auth_type, transport, introspection_url, oauth_clients, jwt_issuers = [] } = server;
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
  if (auth_type === 'jwt' && jwt_issuers.length === 0) {
    const message = 'jwt_issuers needs at least one issuer with auth_type jwt. Without one, signed tokens are rejected.';
    return { field: 'jwt_issuers', message };
  }
  return null;
}
