import * as v from 'valibot';
import { changesOf, entityOperations } from './entity-operations.ts';
import { byId, Empty, Id, integerBetween, listOf, textBetween, Timestamp, Version, Warnings } from './fields.ts';
import { operation } from './operation.ts';

export const DbType = v.picklist([
  'postgresql',
  'mysql',
  'mariadb',
  'sqlite',
  'libsql',
  'cockroachdb',
  'greenplum',
  'supabase',
  'timescaledb',
  'redshift',
]);
export type DbType = v.InferOutput<typeof DbType>;

export const SslMode = v.picklist(['disable', 'require', 'verify-ca', 'verify-full']);
export type SslMode = v.InferOutput<typeof SslMode>;

/**
 * What reading a sensitive entry of `extra_params` gives; sent back it means "unchanged". Sensitive is what by its name is, or may
 * hold, a password, key, certificate, token or address with one (`dsn`, `url`).
 */
export const MASK = '********';

const pem = v.nullable(textBetween(1, 65_536));

const draft = {
  name: textBetween(1, 255),
  db_type: DbType,
  host: v.optional(v.nullable(textBetween(1, 255)), null),
  port: v.optional(v.nullable(integerBetween(1, 65_535)), null),
  database: textBetween(1, 1_024),
  username: v.optional(v.nullable(textBetween(1, 255)), null),
  password: v.optional(v.nullable(textBetween(1, 4_096)), null),
  ssl_mode: v.optional(v.nullable(SslMode), null),
  ssl_ca: v.optional(pem, null),
  ssl_cert: v.optional(pem, null),
  ssl_key: v.optional(pem, null),
  extra_params: v.optional(v.record(textBetween(1, 128), v.unknown()), {}),
  enabled: v.optional(v.boolean(), true),
  read_only: v.optional(v.boolean(), false),
  pool_size: v.optional(integerBetween(1, 100), 4),
  max_concurrency: v.optional(v.nullable(integerBetween(1, 200)), null),
  queue_limit: v.optional(integerBetween(0, 10_000), 100),
  queue_timeout_ms: v.optional(integerBetween(1, 600_000), 5_000),
  query_timeout_ms: v.optional(integerBetween(1, 600_000), 30_000),
  max_rows: v.optional(integerBetween(1, 1_000_000), 1_000),
  max_bytes: v.optional(integerBetween(1_024, 256 * 1024 * 1024), 4 * 1024 * 1024),
};

export const ConnectionDraft = v.strictObject(draft);
export type ConnectionDraft = v.InferOutput<typeof ConnectionDraft>;
export const ConnectionPatch = changesOf(ConnectionDraft);

const { password: _password, ssl_key: _ssl_key, ...readable } = draft;
export const Connection = v.object({
  id: Id,
  ...readable,
  password_set: v.boolean(),
  ssl_key_set: v.boolean(),
  version: Version,
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Connection = v.InferOutput<typeof Connection>;

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
      'failed',
    ]),
  ),
  server_version: v.optional(v.string()),
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

// Where two paths fit an address, the first one has it.
export const connections = {
  'connections.types': operation({
    method: 'GET',
    path: '/connections/types',
    access: 'read',
    input: Empty,
    output: listOf(ConnectionType),
    summary: 'List the supported types of databases',
  }),
  'connections.list': list,
  'connections.create': create,
  'connections.create_sample': operation({
    method: 'POST',
    path: '/connections/sample',
    access: 'write',
    input: Empty,
    output: Connection,
    status: 201,
    summary: 'Create and connect a small sample shop, to try things out',
  }),
  ...others,
  'connections.test': operation({
    method: 'POST',
    path: '/connections/{id}/test',
    access: 'write',
    input: byId,
    output: TestResult,
    agent: 'test_connection',
    summary: 'Test a stored connection',
  }),
  'connections.test_draft': operation({
    method: 'POST',
    path: '/connections/test',
    access: 'write',
    input: ConnectionDraft,
    output: TestResult,
    summary: 'Test a connection without saving it',
  }),
};
