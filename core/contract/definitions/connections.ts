import * as v from 'valibot';
import { connectionSession } from './session-values.ts';
import { connectionCertificates, connectionLimits, ShownSsh, Ssh } from './connection-fields.ts';
import { changesOf, entityOperations } from '../entity-operations.ts';
import { byId, Empty, Id, integerBetween, listOf, shownText, stored, textBetween, Unchanged, Warnings } from '../fields.ts';
import { field, valuesOf } from '../marks.ts';
import { operation } from '../operation.ts';
import { secretOrRef, ShownRef } from '../fields.ts';

export const DB_TYPE_CHOICES = {
  postgresql: { label: 'PostgreSQL' },
  mysql: { label: 'MySQL' },
  mariadb: { label: 'MariaDB' },
  sqlite: { label: 'SQLite' },
  libsql: { label: 'libSQL (remote)' },
  duckdb: { label: 'Folder of files, DuckDB' },
  clickhouse: { label: 'ClickHouse' },
  cockroachdb: { label: 'CockroachDB' },
  greenplum: { label: 'Greenplum' },
  supabase: { label: 'Supabase' },
  timescaledb: { label: 'TimescaleDB' },
  redshift: { label: 'Amazon Redshift' },
} as const;
export const DbType = v.picklist(valuesOf(DB_TYPE_CHOICES));
export type DbType = v.InferOutput<typeof DbType>;

export const SslMode = v.picklist(['disable', 'require', 'verify-ca', 'verify-full']);
export type SslMode = v.InferOutput<typeof SslMode>;

/** Which of several hosts statements that read use; writes always go to the primary. */
export const HostTarget = v.picklist(['any', 'primary', 'prefer_standby']);
export type HostTarget = v.InferOutput<typeof HostTarget>;

/**
 * Replaces sensitive entries of `extra_params` in responses; in requests it means "unchanged". An entry is sensitive if its name
 * suggests a password, key, certificate, token or an address with one (`dsn`, `url`).
 */
export const MASK = '********';

const draft = {
  name: field(shownText(255), { label: 'Name', help: 'Tools and logs refer to the connection by this name.', open: true }),
  db_type: field(DbType, { label: 'Type', choices: DB_TYPE_CHOICES, open: true, address: true }),
  host: field(v.nullable(textBetween(1, 1_024)), {
    label: 'Host',
    help: 'PostgreSQL and MySQL take several, separated by commas.',
    control: 'mono',
    placeholder: 'db.example.com',
    open: true,
    address: true,
    default: null,
  }),
  target: field(HostTarget, {
    label: 'Hosts to read from',
    help: 'Writes go to the primary.',
    choices: {
      any: { label: 'Any host' },
      primary: { label: 'The primary' },
      prefer_standby: { label: 'A standby if one answers' },
    },
    open: true,
    default: 'any',
  }),
  port: field(v.nullable(integerBetween(1, 65_535)), { label: 'Port', open: true, address: true, default: null }),
  database: field(textBetween(1, 1_024), { label: 'Database', control: 'mono', open: true, address: true }),
  username: field(v.nullable(textBetween(1, 255)), {
    label: 'Username',
    help: 'A read-only user is the safest choice. Leave empty for the default user of the database server.',
    control: 'mono',
    open: true,
    address: true,
    default: null,
  }),
  password: field(v.nullable(secretOrRef(textBetween(1, 4_096))), { label: 'Password', secret: true, open: true, default: null }),
  ssl_mode: field(v.nullable(SslMode), {
    label: 'TLS',
    open: true,
    choices: {
      null: {
        label: 'Automatic',
        help: 'TLS; without it only at a private address whose server offers none. With an authority, and for ClickHouse and libSQL: known authority and host name',
      },
      disable: { label: 'Never', help: 'Passwords and rows are sent unencrypted.' },
      require: { label: 'Always, any certificate' },
      'verify-ca': { label: 'Always, known authority' },
      'verify-full': { label: 'Always, known authority and host name', help: 'The safest' },
    },
    default: null,
  }),
  ...connectionCertificates,
  ssh: field(v.nullable(Ssh), {
    label: 'SSH tunnel',
    help: 'SSH servers through which the database is reached. Defaults to none.',
    open: true,
    people: true,
    address: true,
    default: null,
  }),
  extra_params: field(v.record(textBetween(1, 128), v.unknown()), { label: 'Engine settings', open: true, default: {} }),
  enabled: field(v.boolean(), {
    label: 'Enabled',
    help: 'The tools of a disabled connection are left out of the next deploy.',
    open: true,
    default: true,
  }),
  /** Tokens can turn it on, but `core/context/token-limits.ts` refuses to turn it off. */
  read_only: field(v.boolean(), {
    label: 'Read-only',
    help: 'Tools that write are rejected, whatever their SQL says. The database session enforces it.',
    open: true,
    default: false,
  }),
  ...connectionLimits,
  ...connectionSession,
};

export const ConnectionDraft = v.strictObject(draft);
export type ConnectionDraft = v.InferOutput<typeof ConnectionDraft>;
export const ConnectionPatch = changesOf(ConnectionDraft);

const { password: _password, ssl_key: _ssl_key, ssh: _ssh, ...readable } = draft;
export const Connection = v.object({
  id: Id,
  ...readable,
  password: ShownRef,
  ssl_key: ShownRef,
  ssh: v.nullable(ShownSsh),
  password_set: v.boolean(),
  ssl_key_set: v.boolean(),
  ...stored,
  unchanged: Unchanged,
});
export type Connection = v.InferOutput<typeof Connection>;

/** A server of a connection with several hosts. */
export const HostState = v.object({
  host: v.string(),
  /** Null: no answer. */
  role: v.nullable(v.picklist(['primary', 'standby'])),
  /** Null: unknown. */
  lag_ms: v.nullable(v.number()),
  error: v.nullable(v.string()),
});
export type HostState = v.InferOutput<typeof HostState>;

export const TestResult = v.object({
  success: v.boolean(),
  message: v.string(),
  latency_ms: v.number(),
  code: v.optional(
    v.picklist([
      'dns_failed',
      'refused',
      'timeout',
      'auth_failed',
      'database_missing',
      'tls_failed',
      'private_network_blocked',
      'tunnel_unreachable',
      'tunnel_refused',
      'tunnel_host_key',
      'no_primary',
      'failed',
    ]),
  ),
  /** The field to correct, such as `ssh.private_key`. */
  field: v.optional(v.string()),
  /** With `tunnel_host_key`: the fingerprint of the key that the SSH server presents. */
  host_key: v.optional(v.string()),
  server_version: v.optional(v.string()),
  db_type: v.optional(v.pipe(DbType, v.description('What the server is, where the connection says something else'))),
  /** Limits set by the database's administrator. The lower of these and the connection's limits applies. */
  limits: v.optional(
    v.array(v.object({ name: v.string(), value: v.string(), source: v.picklist(['server', 'database', 'account']) })),
  ),
  /** With several hosts, or a `target`: each host. */
  hosts: v.optional(v.array(HostState)),
  warnings: Warnings,
});
export type TestResult = v.InferOutput<typeof TestResult>;

export const ConnectionType = v.object({
  db_type: DbType,
  label: v.string(),
  default_port: v.nullable(v.number()),
  required_fields: v.array(v.string()),
  extra_fields: v.pipe(
    v.array(
      v.object({
        name: v.string(),
        label: v.string(),
        hint: v.string(),
        type: v.picklist(['text']),
        default: v.nullable(v.string()),
        secret: v.boolean(),
      }),
    ),
    v.description('The entries that `extra_params` can have; others are rejected'),
  ),
  session_values: v.pipe(v.boolean(), v.description('Session values can pass the caller to the database')),
  session_roles: v.pipe(v.boolean(), v.description('Statements can run as a role of the caller')),
  ssh: v.pipe(v.boolean(), v.description('Can be reached through an SSH tunnel')),
  hosts: v.pipe(v.boolean(), v.description('`host` can be a list')),
  supported: v.boolean(),
  note: v.nullable(v.string()),
});
export type ConnectionType = v.InferOutput<typeof ConnectionType>;

const {
  'connections.list': list,
  'connections.create': create,
  ...others
} = entityOperations({
  kind: 'connection',
  plural: 'connections',
  draft: ConnectionDraft,
  record: Connection,
  filters: {},
  agents_list: true,
  owns: 'tools, resources and prompts',
});

// If two paths match a URL, the first one is used.
export const connections = {
  'connections.types': operation('GET /connections/types', 'read', {
    input: Empty,
    output: listOf(ConnectionType),
    summary: 'List the supported types of databases',
  }),
  'connections.list': list,
  'connections.create': create,
  'connections.create_sample': operation('POST /connections/sample', 'write', {
    input: Empty,
    output: Connection,
    status: 201,
    summary: 'Create and connect a small sample shop, to try things out',
  }),
  ...others,
  'connections.test': operation('POST /connections/{id}/test', 'write', {
    role: 'viewer',
    input: byId,
    output: TestResult,
    agent: 'test_connection',
    summary: 'Test a stored connection',
  }),
  'connections.test_draft': operation('POST /connections/test', 'write', {
    input: ConnectionDraft,
    output: TestResult,
    summary: 'Test a connection without saving it',
  }),
};
