import type { DbType } from '#core/contract/definitions/connections.ts';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { inputSchema } from '#core/query/arguments.ts';
import { engineOf } from '#core/engines/index.ts';
import { type FrozenConnection, type FrozenTool, SNAPSHOT_FORMAT, type Snapshot } from '#snapshots/format/format.ts';
import { parseSql } from '#test/support/sql.ts';

/** Text that would leave any literal or comment that does not escape it. */
export const HOSTILE =
  '`${process.exit(1)}` "; import "evil"; // */ \' \\ \\u0041 </script> {% \u2028 \r\n import evil from "evil";\n';
export const SEALED = { $sealed: 'v1.0123abcd.fingerprint.ciphertext' } as const;

interface ToolSketch extends Partial<
  Pick<FrozenTool, 'mode' | 'return_type' | 'max_rows' | 'rate_limit_per_minute' | 'transform_template'>
> {
  readonly name: string;
  readonly connection_id: string;
  readonly sql: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
}

/** A tool frozen by hand; its connection's id says its kind of database. */
export function toolOf(sketch: ToolSketch): (connections: readonly FrozenConnection[]) => FrozenTool {
  const { name, connection_id, sql, description = '', parameters = [], ...rest } = sketch;
  return (connections) => {
    const { dialect } = engineOf(connections.find(({ id }) => id === connection_id)?.db_type ?? 'sqlite');
    return {
      id: name,
      name,
      connection_id,
      statement: parseSql(sql, dialect.name, parameters),
      mode: 'read',
      parameters,
      timeout_ms: 5_000,
      max_rows: 100,
      max_bytes: 1_000_000,
      transform_template: null,
      return_type: 'rows',
      cache_ttl_seconds: 0,
      tags: [],
      listing: { name, description, inputSchema: inputSchema(parameters) },
      ...rest,
    };
  };
}

export function connectionOf(db_type: DbType, id: string, own: Partial<FrozenConnection>): FrozenConnection {
  return {
    id,
    name: id,
    db_type,
    host: null,
    port: null,
    database: id,
    username: null,
    password: null,
    ssl_mode: null,
    ssl_ca: null,
    ssl_cert: null,
    ssl_key: null,
    extra_params: {},
    read_only: false,
    pool_size: 2,
    max_concurrency: 2,
    queue_limit: 10,
    queue_timeout_ms: 1_000,
    pool_key: id,
    ...own,
  };
}

export function snapshotOf(
  connections: readonly FrozenConnection[],
  tools: readonly ReturnType<typeof toolOf>[],
  server_name: string,
): Snapshot {
  return {
    version: 7,
    checksum: `sha256:${'0'.repeat(64)}`,
    created_at: '2020-01-02T03:04:05.678Z',
    content: {
      format: SNAPSHOT_FORMAT,
      server: {
        server_name,
        transport: 'http',
        host: '127.0.0.1',
        port: 8080,
        log_level: 'INFO',
        otel_enabled: false,
        auth_type: 'none',
        oauth_clients: [],
        token_ttl_seconds: 3_600,
        introspection_url: null,
        introspection_client_id: null,
        introspection_client_secret: null,
        introspection_cache_ttl_seconds: 60,
        cors_origins: [],
        global_variables: { currency: 'EUR' },
      },
      toolsets: [],
      connections,
      tools: tools.map((tool) => tool(connections)),
      resources: [
        {
          ...tools[0]!(connections),
          name: 'first',
          uri_template: 'shop://first',
          mime_type: 'application/json',
          listing: { name: 'first', uri: 'shop://first', mimeType: 'application/json' },
        },
      ],
      prompts: [
        {
          id: 'greet',
          name: 'greet',
          arguments: [{ name: 'who', required: true }],
          messages: [{ role: 'user', template: 'Hello {{ who }}, prices are in {{ vars.currency }}.' }],
          listing: { name: 'greet', arguments: [{ name: 'who', required: true }] },
        },
      ],
    },
  };
}
